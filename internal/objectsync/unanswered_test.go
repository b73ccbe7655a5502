package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// lagging is a cache that shows no copies yet.
type lagging struct{ objectsync.Cache }

func (lagging) Copies(string) ([]*unstructured.Unstructured, error) { return nil, nil }

// TestChangedBeforeSeen shows that a copy whose creation was not answered gets what has changed at its source before
// the watch shows it.
func TestChangedBeforeSeen(t *testing.T) {
	t.Run("Copy", func(t *testing.T) {
		w := newWorld(t)
		s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
		held := thing(w.input.Object)
		held.SetFinalizers([]string{objectsync.Finalizer})
		w.create(w.above, held)
		for n := 1; len(w.copies(w.cluster)) == 0; n++ {
			stopped(t, s, w.input, &fault{left: n, after: true})
		}
		w.patch(w.above, thing(w.input.Object), `{"spec":{"size":"two"}}`)
		blind := w.input
		all := blind.Service.Cache
		blind.Service.Cache = func(r schema.GroupVersionResource) objectsync.Cache { return lagging{all(r)} }
		stopped(t, s, blind, &fault{left: 2}) // It ends before it can ask what is in the way.
		_, _ = s.Sync(t.Context(), blind)
		w.mustSync(s, w.input)
		if diff := cmp.Diff(w.source(w.input).Object["spec"], w.theCopy(w.cluster).Object["spec"]); diff != "" {
			t.Errorf("-source, +copy:\n%s", diff)
		}
	})
	for _, origin := range []v1alpha1.Origin{v1alpha1.OriginKCP, v1alpha1.OriginService} {
		t.Run(string(origin), func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(related(origin, byReference("spec.secretName")))
			ns, at, to, copies := w.input.Object.Namespace, w.above, w.below, w.cluster
			blind := w.input
			blind.Service = veil(blind.Service, "tls", nil)
			if origin == v1alpha1.OriginService {
				ns, at, to, copies = copies, to, at, ns
				blind = w.input
				blind.Workspace.Side = veil(blind.Workspace.Side, "tls", nil)
			}
			w.create(w.above, thing(w.input.Object))
			w.mustSync(s, w.input)
			w.create(at, newSecret(ns, "tls", "one"))
			stopped(t, s, w.input, &fault{left: 2, after: true})
			if w.secretOf(to, copies, "tls") == nil {
				t.Fatal("want the copy made")
			}
			w.patch(at, newSecret(ns, "tls", ""), `{"stringData":{"k":"two"}}`)
			if _, err := s.Sync(t.Context(), blind); err == nil {
				t.Error("want to wait until the copy is seen")
			}
			w.mustSync(s, w.input)
			if got := w.secretOf(to, copies, "tls")["k"]; got != "two" {
				t.Errorf("want the copy as its source is, got %q", got)
			}
		})
	}
}
