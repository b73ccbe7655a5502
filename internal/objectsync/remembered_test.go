package objectsync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// listing returns a spec with Secrets of the service cluster that a list names, and creates an object with that list.
// The last entry of the list has no name.
func listing(w *world, names ...string) *v1alpha1.PublishedResourceSpec {
	w.Helper()
	var list []any
	for _, n := range names {
		list = append(list, map[string]any{"name": n})
	}
	list = append(list, map[string]any{"other": "x"})
	w.create(w.above, thing(w.input.Object, set("items", list)))
	return related(v1alpha1.OriginService, byReference("spec.items.#.name"))
}

// TestTooMuchToRemember shows that a related object which does not fit into a state beside others is refused and told
// of, when it comes and when it grows, and that all else stays in step.
func TestTooMuchToRemember(t *testing.T) {
	w := newWorld(t)
	s, ns := w.syncer(listing(w, "a", "b")), w.input.Object.Namespace
	large := strings.Repeat("x", 600<<10)
	refused := func(when string, want map[string]string) {
		t.Helper()
		was := w.states()[0].ResourceVersion
		w.refused(s, w.input, objectsync.ErrTooLarge)
		if got := w.secretOf(w.above, ns, "b"); !cmp.Equal(want, got) ||
			len(w.secretOf(w.above, ns, "a")["k"]) != len(large) {
			t.Errorf("%s: want what there was, got b with %v", when, sortedKeys(got))
		}
		if told := len(w.source(w.input).GetAnnotations()); told != 1+len(want) ||
			w.states()[0].ResourceVersion != was {
			t.Errorf("%s: want nothing remembered of it, and the consumer told of what there is, got %d annotations",
				when, told)
		}
	}
	w.mustSync(s, w.input)
	w.create(w.below, newSecret(w.cluster, "a", large))
	w.mustSync(s, w.input)
	second := newSecret(w.cluster, "b", large)
	w.create(w.below, second)
	w.patchStatus(w.below, w.theCopy(w.cluster), `{"status":{"phase":"Ready"}}`)
	refused("when it comes", nil)
	if w.source(w.input).Object["status"] == nil {
		t.Error("want the status all the same")
	}
	w.patch(w.below, second, `{"data":{"k":"dHdv"}}`)
	w.mustSync(s, w.input)
	w.patch(w.below, second, `{"stringData":{"large":"`+large+`"}}`)
	refused("when it grows", map[string]string{"k": "two"})
	w.patch(w.below, second, `{"data":{"large":null,"k":"b25l"}}`)
	w.mustSync(s, w.input)
	if diff := cmp.Diff(map[string]string{"k": "one"}, w.secretOf(w.above, ns, "b")); diff != "" {
		t.Errorf("once it is small again: -want, +got:\n%s", diff)
	}
}

// TestSeveralAtOnce shows that related objects which come at one time are remembered by one write before their copies
// are made, and one after that, though what is known of the state is older than those writes; and that those of a list
// come that have a name, as mutation of related objects has them.
func TestSeveralAtOnce(t *testing.T) {
	w := newWorld(t)
	spec, names := listing(w, "a", "", "b", "c"), []string{"a", "b", "c"}
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
