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
		"Field": {
			reason:  "A field is set.",
			content: map[string]any{"a": "b"},
			path:    "a",
			value:   "c",
			want:    map[string]any{"a": "c"},
		},
		"Deep": {
			reason:  "What it lies in is made.",
			content: map[string]any{},
			path:    "a.b[1].c",
			value:   int64(1),
			want:    map[string]any{"a": map[string]any{"b": []any{nil, map[string]any{"c": int64(1)}}}},
		},
		"LargeNumber": {
			reason:  "A whole number loses nothing.",
			content: map[string]any{},
			path:    "a",
			value:   int64(1)<<62 + 1,
			want:    map[string]any{"a": int64(1)<<62 + 1},
		},
		"Brackets": {
			reason:  "A key may hold dots.",
			content: map[string]any{},
			path:    "a[example.org/b]",
			value:   "c",
			want:    map[string]any{"a": map[string]any{"example.org/b": "c"}},
		},
		"Element": {
			reason:  "An element is replaced.",
			content: map[string]any{"a": []any{"x", "y"}},
			path:    "a[0]",
			value:   "z",
			want:    map[string]any{"a": []any{"z", "y"}},
		},
		"Null": {
			reason:  "Null gives way.",
			content: map[string]any{"a": nil},
			path:    "a.b",
			value:   "c",
			want:    map[string]any{"a": map[string]any{"b": "c"}},
		},
		"FieldOfText": {
			reason:  "A text has no fields.",
			content: map[string]any{"a": "b"},
			path:    "a.b",
			value:   "c",
			want:    nil,
		},
		"ElementOfMap": {
			reason:  "An object has no elements.",
			content: map[string]any{"a": map[string]any{}},
			path:    "a[0]",
			value:   "c",
			want:    nil,
		},
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
		"Empty":       {reason: "No path is fine.", path: "", ok: true},
		"Plain":       {reason: "Fields and elements are fine.", path: "spec.containers[0].image", ok: true},
		"ElementOf":   {reason: "A resource has fields, and no elements.", path: "[0].b", ok: false},
		"Unclosed":    {reason: "A bracket must be closed.", path: "a[0", ok: false},
		"Wildcard":    {reason: "There are no wildcards.", path: "a[*].b", ok: false},
		"HighIndex":   {reason: "An index is limited.", path: "a[1024]", ok: true},
		"HugeIndex":   {reason: "A huge one is refused.", path: "a[1025]", ok: false},
		"ManyIndexes": {reason: "Many are limited together.", path: "a[1000][25]", ok: false},
		"OnlyPeriod":  {reason: "A path has segments.", path: ".", ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPath(tc.path); (err == nil) != tc.ok {
				t.Errorf("%s\ncheckPath(%q): got %v", tc.reason, tc.path, err)
			}
		})
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
