package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		content map[string]any
		path    string
		value   any
		want    map[string]any // nil for an error
	}{
		"Field":        {"A field is set.", map[string]any{"a": "b"}, "a", "c", map[string]any{"a": "c"}},
		"Deep":         {"What it lies in is made.", map[string]any{}, "a.b[1].c", int64(1), map[string]any{"a": map[string]any{"b": []any{nil, map[string]any{"c": int64(1)}}}}},
		"LargeNumber":  {"A whole number loses nothing.", map[string]any{}, "a", int64(1)<<62 + 1, map[string]any{"a": int64(1)<<62 + 1}},
		"Brackets":     {"A key may hold dots.", map[string]any{}, "a[example.org/b]", "c", map[string]any{"a": map[string]any{"example.org/b": "c"}}},
		"Element":      {"An element is replaced.", map[string]any{"a": []any{"x", "y"}}, "a[0]", "z", map[string]any{"a": []any{"z", "y"}}},
		"Null":         {"Null gives way.", map[string]any{"a": nil}, "a.b", "c", map[string]any{"a": map[string]any{"b": "c"}}},
		"FieldOfText":  {"A text has no fields.", map[string]any{"a": "b"}, "a.b", "c", nil},
		"ElementOfMap": {"An object has no elements.", map[string]any{"a": map[string]any{}}, "a[0]", "c", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := write(tc.content, tc.path, tc.value)
			if (err != nil) != (tc.want == nil) {
				t.Fatalf("%s\nwrite: got error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, tc.content); tc.want != nil && diff != "" {
				t.Errorf("%s\nwrite: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWriteCopies(t *testing.T) {
	shared := map[string]any{"a": "b"}
	content := map[string]any{}
	if err := write(content, "x", shared); err != nil {
		t.Fatal(err)
	}
	if err := write(content, "x.a", "changed"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": "b"}, shared); diff != "" {
		t.Errorf("what was read must not change: -want, +got:\n%s", diff)
	}
}

func TestCheckPath(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		path   string
		ok     bool
	}{
		"Empty":       {"No path is fine.", "", true},
		"Plain":       {"Fields and elements are fine.", "spec.containers[0].image", true},
		"ElementOf":   {"A resource has fields, and no elements.", "[0].b", false},
		"Unclosed":    {"A bracket must be closed.", "a[0", false},
		"Wildcard":    {"There are no wildcards.", "a[*].b", false},
		"HighIndex":   {"An index is limited.", "a[1024]", true},
		"HugeIndex":   {"A huge one is refused.", "a[1025]", false},
		"ManyIndexes": {"Many are limited together.", "a[1000][25]", false},
		"OnlyPeriod":  {"A path has segments.", ".", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPath(tc.path); (err == nil) != tc.ok {
				t.Errorf("%s\ncheckPath(%q): got %v", tc.reason, tc.path, err)
			}
		})
	}
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"metadata.name", "a[0].b", "a[example.org/b]", "spec.x[*]", "a[99999999999999999999]", "[[", "[0]", ""} {
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
