package objectsync

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type object = map[string]any

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		from, to object
		want     object
	}{
		"Same": {reason: "Nothing has changed.", from: object{"a": int64(1)}, to: object{"a": int64(1)}, want: nil},
		"Added": {
			reason: "A field is new.",
			from:   object{},
			to:     object{"a": object{"b": "c"}},
			want:   object{"a": object{"b": "c"}},
		},
		"Removed": {
			reason: "A field is gone.",
			from:   object{"a": object{"b": "c", "d": "e"}},
			to:     object{"a": object{"d": "e"}},
			want:   object{"a": object{"b": nil}},
		},
		"RemovedAll": {
			reason: "A field is gone with all in it.",
			from:   object{"a": object{"b": "c"}},
			to:     object{},
			want:   object{"a": nil},
		},
		"List": {
			reason: "A list is replaced.",
			from:   object{"a": []any{"b"}},
			to:     object{"a": []any{"b", "c"}},
			want:   object{"a": []any{"b", "c"}},
		},
		"Type": {
			reason: "A field gets another type.",
			from:   object{"a": "b"},
			to:     object{"a": object{"b": "c"}},
			want:   object{"a": object{"b": "c"}},
		},
		"Number": {reason: "1 is 1.0.", from: object{"a": int64(1)}, to: object{"a": 1.0}, want: nil},
		"Large": {
			reason: "Large whole numbers are compared as such.",
			from:   object{"a": int64(9007199254740992)},
			to:     object{"a": int64(9007199254740993)},
			want:   object{"a": int64(9007199254740993)},
		},
		"Null":   {reason: "Null is none.", from: object{}, to: object{"a": nil}, want: nil},
		"ToNull": {reason: "And becomes none.", from: object{"a": "b"}, to: object{"a": nil}, want: object{"a": nil}},
		"Unknown": {
			reason: "Without a last known state all is new.",
			from:   nil,
			to:     object{"a": "b"},
			want:   object{"a": "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, diff(tc.from, tc.to)); d != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

func TestNeeded(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		patch, object object
		want          object
	}{
		"There": {
			reason: "What is so is not written.",
			patch:  object{"a": object{"b": "c"}},
			object: object{"a": object{"b": "c", "local": "x"}},
			want:   nil,
		},
		"Partly": {
			reason: "Only what differs is.",
			patch:  object{"a": object{"b": "c", "d": "e"}},
			object: object{"a": object{"b": "c"}},
			want:   object{"a": object{"d": "e"}},
		},
		"Gone": {
			reason: "What is gone is not removed.",
			patch:  object{"a": object{"b": nil}},
			object: object{},
			want:   nil,
		},
		"Empty": {
			reason: "An empty object is something.",
			patch:  object{"a": object{}},
			object: object{},
			want:   object{"a": object{}},
		},
		"EmptyIsThere": {
			reason: "Unless it is there.",
			patch:  object{"a": object{}},
			object: object{"a": object{"x": "y"}},
			want:   nil,
		},
		"Remove": {
			reason: "What is there is removed.",
			patch:  object{"a": nil},
			object: object{"a": "b"},
			want:   object{"a": nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, needed(tc.patch, tc.object)); d != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

// FuzzDiff shows that a patch makes of one object the other, as a server understands it, and that nothing is left to do
// then.
func FuzzDiff(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1,2]},"d":"e"}`, `{"a":{"b":1.5},"f":{"g":{}}}`, `{"a":{"local":true}}`)
	f.Add(`{}`, `{"a":null,"b":{"c":null}}`, `{"b":"x"}`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var from, to, local object
		if utiljson.Unmarshal([]byte(a), &from) != nil || utiljson.Unmarshal([]byte(b), &to) != nil ||
			utiljson.Unmarshal([]byte(c), &local) != nil {
			return
		}
		change := diff(from, to)
		if got := applyPatch(t, from, change); !same(got, to) {
			t.Errorf("%s to %s: got %v by %v", a, b, got, change)
		}
		if d := diff(to, to); d != nil {
			t.Errorf("an object differs from itself: %v", d)
		}
		all, part := applyPatch(t, local, change), applyPatch(t, local, needed(change, local))
		if !same(full(all), full(part)) {
			t.Errorf("what is needed of %v for %s is not all: %v and %v", change, c, all, part)
		}
		if left := needed(change, all); left != nil {
			t.Errorf("something is left of %v for %v: %v", change, all, left)
		}
	})
}

// full returns an object without objects that are empty: a patch that only removes makes one where there was nothing,
// which nobody needs.
func full(o object) object {
	out := object{}
	for field, v := range o {
		if m, ok := v.(object); ok {
			if m = full(m); len(m) == 0 {
				continue
			}
			v = m
		}
		out[field] = v
	}
	return out
}

// applyPatch applies a patch as a server does.
func applyPatch(t *testing.T, o, patch object) object {
	t.Helper()
	if o == nil {
		o = object{}
	}
	if patch == nil {
		return o
	}
	doc, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonpatch.MergePatch(doc, p)
	if err != nil {
		t.Fatal(err)
	}
	var got object
	if err := utiljson.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
