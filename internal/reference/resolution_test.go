package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// TestTake shows that the values of an Object's references are limited together: what refers to one large field many
// times would else copy it as often.
func TestTake(t *testing.T) {
	large := strings.Repeat("x", sizeMost/2)
	for name, tc := range map[string]struct {
		reason string
		values []any
		ok     bool
	}{
		"Small": {
			"Values that a manifest can hold are taken.",
			[]any{"a", int64(1), nil, map[string]any{"a": []any{true}}, large},
			true,
		},
		"Many":     {"Many large ones are not.", []any{large, large}, false},
		"Nested":   {"Nor those inside of others.", []any{map[string]any{"a": []any{large, large}}}, false},
		"LongKeys": {"Keys count.", []any{map[string]any{large: "a"}, map[string]any{large: "b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			res := &Resolution{}
			var err error
			for _, v := range tc.values {
				if err == nil {
					err = res.take(value{ref: &Reference{At: "references[0]"}, written: v})
				}
			}
			if (err == nil) != tc.ok || err != nil && ReasonOf(err) != commonv1.ReasonInvalidReference {
				t.Errorf("%s\ntake: got %v", tc.reason, err)
			}
		})
	}
}

// TestWrite shows that null gives way, that nothing else does, and that what was read does not change with the copy.
func TestWrite(t *testing.T) {
	shared := map[string]any{"b": "c"}
	content := map[string]any{"a": nil, "text": "x"}
	for path, value := range map[string]any{"a.b": "c", "copy": shared} {
		if err := write(content, path, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(content, "copy.b", "changed"); err != nil {
		t.Fatal(err)
	}
	if err := write(content, "text.b", "c"); err == nil {
		t.Error("a text has no fields")
	}
	want := map[string]any{"a": map[string]any{"b": "c"}, "copy": map[string]any{"b": "changed"}, "text": "x"}
	if diff := cmp.Diff(want, content) + cmp.Diff(map[string]any{"b": "c"}, shared); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestCheckPath shows which paths are fine: indexes are limited, each and together.
func TestCheckPath(t *testing.T) {
	for path, want := range map[string]bool{
		"": true, "spec.containers[0].image": true, "a[1024]": true, "a[1025]": false, "a[1000][25]": false,
		"[0].b": false, "a[0": false, "a[*].b": false, ".": false,
	} {
		if err := checkPath(path); (err == nil) != want {
			t.Errorf("checkPath(%q): want it to be fine: %t, got %v", path, want, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{
		"metadata.name", "a[0].b", "a[example.org/b]", "spec.x[*]", "a[99999999999999999999]", "[[", "[0]", "",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if checkPath(path) != nil || path == "" {
			return
		}
		content := map[string]any{}
		if err := write(content, path, "value"); err != nil {
			t.Fatalf("a path that is fine can be written to an empty object: %v", err)
		}
		if v, ok, err := read(content, path); err != nil || !ok || v != "value" {
			t.Fatalf("what is written at %q can be read: %v, %t, %v", path, v, ok, err)
		}
	})
}
