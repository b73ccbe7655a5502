package reference

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// secretAt returns a Secret in a version.
func secretAt(version string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"uid": "s", "resourceVersion": version},
	}
}

func TestWithheld(t *testing.T) {
	k := node{schema.GroupKind{Kind: "Object"}, types.NamespacedName{Namespace: "default", Name: "database"}}
	type want struct {
		content map[string]any
		late    bool
	}
	for name, tc := range map[string]struct {
		reason string
		before func(*hiddenResources)
		want   want
	}{
		"Seen": {
			reason: "What the Object has last seen is given.",
			before: func(w *hiddenResources) {
				w.put(k, observedResource{object: "o", content: secretAt("1")})
				w.put(k, observedResource{object: "o", content: secretAt("2")})
			},
			want: want{content: secretAt("2")},
		},
		"Never": {
			reason: "An Object that has not looked yet may do so in a moment.", before: func(*hiddenResources) {},
		},
		"NeverForLong": {
			reason: "One that does not look for long may never do.",
			before: func(w *hiddenResources) { w.asked = func() time.Time { return time.Now().Add(-2 * patience) } },
			want:   want{late: true},
		},
		"Namesake": {
			reason: "What an Object of the same name has seen before is not given.",
			before: func(w *hiddenResources) { w.put(k, observedResource{object: "former", content: secretAt("1")}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &hiddenResources{asked: time.Now}
			tc.before(w)
			content, late := w.get(k, "o")
			if diff := cmp.Diff(tc.want, want{content: content, late: late}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWithheldIsNew(t *testing.T) {
	k, w := node{kind: schema.GroupKind{Kind: "Object"}}, &hiddenResources{}
	for _, step := range []struct {
		reason string
		sight  observedResource
		want   bool
	}{
		{
			reason: "What is seen first is new.", sight: observedResource{object: "o", content: secretAt("1")},
			want: true,
		},
		{
			reason: "The same again is not, so that nobody is woken.",
			sight:  observedResource{object: "o", content: secretAt("1")},
			want:   false,
		},
		{reason: "Another version is.", sight: observedResource{object: "o", content: secretAt("2")}, want: true},
		{
			reason: "So is the same seen by another Object of the name.",
			sight:  observedResource{object: "p", content: secretAt("2")},
			want:   true,
		},
	} {
		if got := w.put(k, step.sight); got != step.want {
			t.Errorf("%s\nnew: want %t, got %t", step.reason, step.want, got)
		}
	}
}
