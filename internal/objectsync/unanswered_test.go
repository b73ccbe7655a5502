package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// lagging is a cache that shows no copies yet.
type lagging struct{ objectsync.Cache }

func (lagging) Get(types.NamespacedName) (*unstructured.Unstructured, error) {
	return nil, nil //nolint:nilnil // So is none told.
}

func (lagging) Copies(string) ([]*unstructured.Unstructured, error) { return nil, nil }

// unseen returns the input while its watch of copies lags behind.
func unseen(in objectsync.Input) objectsync.Input {
	all := in.Service.Cache
	in.Service.Cache = func(r schema.GroupVersionResource) objectsync.Cache {
		if r == things.Service.GroupVersionResource {
			return lagging{all(r)}
		}
		return all(r)
	}
	return in
}

// TestMovedBeforeSeen shows that a copy whose creation was not answered, and that the watch does not show yet, is not
// made once more by a rule for names that has changed meanwhile, nor left behind when its object is deleted.
func TestMovedBeforeSeen(t *testing.T) {
	w, below := withoutServers(t)
	named := func(name string) *objectsync.Syncer {
		return w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: name}})
	}
	enter(w.input, map[string]any{"size": "L"})
	if _, err := named("before").Sync(t.Context(), w.input); err != nil {
		t.Fatal(err)
	}
	if err := w.resync(named("after"), unseen(w.input)); err != nil {
		t.Error(err)
	}
	all := below.all[things.Service.GroupVersionResource]
	if u := all[types.NamespacedName{Namespace: w.cluster, Name: "before"}]; u == nil || len(all) != 1 {
		t.Errorf("want the one copy, got %v", all)
	}
	u := workspaceOf(w.input).get(things.Workspace.GroupVersionResource, w.input.Object).DeepCopy()
	u.SetDeletionTimestamp(new(now()))
	workspaceOf(w.input).put(things.Workspace.GroupVersionResource, u)
	if err := w.resync(named("after"), unseen(w.input)); !apierrors.IsConflict(err) {
		t.Errorf("want it to wait for the watch, got %v", err)
	}
	w.remove(named("after"), w.input)
	if len(all) != 0 {
		t.Errorf("want the copy gone, got %v", all)
	}
}

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
		blind := unseen(w.input)
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
