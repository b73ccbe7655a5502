package objectsync_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestSeveralAtOnce shows that related objects which come at one time are remembered by one write before their copies
// are made, and one after that, though what is known of the state is older than those writes; and that those of a list
// come that have a name, as mutation of related objects has them.
func TestSeveralAtOnce(t *testing.T) {
	w := newWorld(t)
	spec, names := related(v1alpha1.OriginService, byReference("spec.items.#.name")), []string{"a", "b", "c"}
	list := []any{map[string]any{"name": ""}, map[string]any{"other": "x"}}
	for _, name := range names {
		list = append(list, map[string]any{"name": name})
	}
	w.create(w.above, thing(w.input.Object, set("items", list)))
	spec.Related[0].Mutation = &v1alpha1.ResourceMutations{
		Spec: []v1alpha1.ResourceMutation{byCEL("data.new", "self.data.k")},
	}
	s := w.syncer(spec)
	w.mustSync(s, w.input)
	for _, name := range names {
		w.create(w.below, newSecret(w.cluster, name, name))
	}
	in := w.input
	in.Service = w.lately(in.Service, objectsync.Secrets,
		s.StateOf(objectsync.Primary{Cluster: w.cluster, NamespacedName: in.Object}))
	above, below := w.writes(func() {
		if _, err := s.Sync(t.Context(), in); err != nil {
			t.Error(err)
		}
	})
	want := []map[string]int{{"create secrets": 3, "patch things.ws.example.com": 1}, {"patch secrets": 2}}
	if diff := cmp.Diff(want, []map[string]int{above, below}); diff != "" {
		t.Errorf("requests: -want, +got:\n%s", diff)
	}
	w.mustSync(s, w.input)
	var annotations []string
	for i, name := range names {
		annotations = append(annotations, fmt.Sprint(objectsync.AnnotationRelatedPrefix, "tls.", i))
		if diff := cmp.Diff(map[string]string{"k": name, "new": name},
			w.secretOf(w.above, in.Object.Namespace, name)); diff != "" {
			t.Errorf("Secret %s: -want, +got:\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(annotations, sortedKeys(w.source(w.input).GetAnnotations())); diff != "" {
		t.Errorf("annotations: -want, +got:\n%s", diff)
	}
}
