package reference

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// showing returns an Object that shows a color.
func showing(color string) Object {
	o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "source", Labels: map[string]string{"app": "web"},
	}}
	o.Observed().Manifest.Raw = []byte(`{"data":{"color":"` + color + `"}}`)
	return o
}

func TestReads(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Object"}
	const color, shape = "status.atProvider.manifest.data.color", "status.atProvider.manifest.data.shape"
	one := objectInterest{
		NamespacedName: types.NamespacedName{Namespace: "default", Name: "source"}, kind: gvk.GroupKind(),
	}
	other, selected := one, objectInterest{
		NamespacedName: types.NamespacedName{Namespace: "default"}, kind: gvk.GroupKind(), selector: "app=web",
	}
	other.Name = "other"
	a, b := informer.Owner{Controller: "a"}, informer.Owner{Controller: "b"}
	for name, tc := range map[string]struct {
		reason string
		track  func(*objects)
		same   bool // the color does not change
		want   bool
	}{
		"Nobody": {reason: "Nobody refers to it.", track: func(*objects) {}},
		"Reader": {
			reason: "A field that is read differs.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: one, field: color}}) },
			want:   true,
		},
		"Same": {
			reason: "A field that is read is the same.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: one, field: color}}) },
			same:   true,
		},
		"Else": {
			reason: "Another field is read.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: one, field: shape}}) },
		},
		"Depends": {
			reason: "Who depends on it reads nothing.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: one}}) },
		},
		"Other": {
			reason: "Another Object is read.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: other, field: color}}) },
		},
		"Selected": {
			reason: "Who selects it reads it.",
			track:  func(s *objects) { s.track(a, "", []fieldInterest{{objectInterest: selected, field: color}}) },
			want:   true,
		},
		"Twice": {reason: "Of two who read it one has gone.", want: true, track: func(s *objects) {
			s.track(a, "", []fieldInterest{{objectInterest: one, field: color}, {objectInterest: one, field: color}})
			s.track(b, "", []fieldInterest{{objectInterest: one, field: color}, {objectInterest: one, field: shape}})
			s.track(a, "", nil)
		}},
		"Gone": {reason: "All who read it have gone.", track: func(s *objects) {
			s.track(a, "", []fieldInterest{
				{objectInterest: one, field: color}, {objectInterest: one, field: shape}, {objectInterest: one},
			})
			s.track(a, "", []fieldInterest{{objectInterest: one}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Resolver{objects: newObjects(Options{})}
			tc.track(r.objects)
			is := showing("red")
			if tc.same {
				is = showing("blue")
			}
			if got := r.Reads(gvk, showing("blue"), is); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
			r.objects.track(a, "", nil)
			r.objects.track(b, "", nil)
			if n := len(r.objects.fields) + len(r.objects.owners) + len(r.objects.selectors); n > 0 {
				t.Errorf("%s\nwant nothing remembered in the end, got %d", tc.reason, n)
			}
		})
	}
}
