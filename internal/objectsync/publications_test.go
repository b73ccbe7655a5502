package objectsync_test

import (
	"context"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// publication returns a syncer of one of several publications of an owner, such as those of two kcps of one backup.
func (w *world) publication(name string) *objectsync.Syncer {
	return w.newSyncer(objectsync.Config{
		Spec:        related(v1alpha1.OriginKCP, byReference("spec.secretName")),
		Publication: name, Primary: things, Related: map[string]objectsync.Pair{"tls": secrets},
	})
}

// TestTwoPublications shows that of two publications of an owner one has a copy, with all that belongs to it: the other
// neither writes nor deletes any of it. What the first leaves behind, the other takes, and it is the other's then.
func TestTwoPublications(t *testing.T) {
	for name, tc := range map[string]struct {
		leave  func(w *world, first *objectsync.Syncer) error
		change string // by which the copy tells whose it is
	}{
		"Workspace": {leave: func(w *world, first *objectsync.Syncer) error {
			return first.Abandon(w.Context(), w.input)
		}, change: `{}`},
		"Publication": {leave: func(w *world, first *objectsync.Syncer) error {
			return first.RemoveFinalizers(w.Context(), w.input)
		}, change: `{"spec":{"size":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first, other := w.publication("first"), w.publication("other")
			w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
			w.create(w.above, thing(w.input.Object))
			w.mustSync(first, w.input)
			w.restsBeside(first, other)

			if err := tc.leave(w, first); err != nil {
				t.Fatal(err)
			}
			w.patch(w.above, thing(w.input.Object), tc.change)
			was := w.theCopy(w.cluster)
			w.mustSync(other, w.input)
			if is := w.theCopy(w.cluster); is.GetUID() != was.GetUID() || objectsync.IsOrphaned(is) {
				t.Errorf("want the copy taken, got %v", is.Object["metadata"])
			}
			w.restsBeside(other, first)

			w.delete(w.input)
			w.mustSync(first, w.input) // Nothing is its own, so that it keeps nothing.
			if w.source(w.input) != nil || len(w.copies(w.cluster)) != 1 || len(w.states()) != 1 {
				t.Error("want the object gone, and nothing of the other's")
			}
		})
	}
}

// restsBeside fails unless one publication has the copy, and another one leaves that and all that belongs to it as they
// are, whatever becomes of the object in its own kcp.
func (w *world) restsBeside(one, another *objectsync.Syncer) {
	w.Helper()
	_, below := w.writes(func() {
		all, err := w.sync(another, w.input)
		if !errors.Is(err, objectsync.ErrForeign) || reasons(all) != objectsync.ReasonNameTaken {
			w.Errorf("want ErrForeign and a warning, got %v, %q", err, reasons(all))
		}
		_, released := another.Release(w.Context(), w.input)
		for _, err := range []error{
			released, another.Abandon(w.Context(), w.input), another.RemoveFinalizers(w.Context(), w.input),
		} {
			if err != nil {
				w.Error(err)
			}
		}
	})
	if len(below) != 0 {
		w.Errorf("want nothing written, got %v", below)
	}
	w.mustSync(one, w.input) // It holds the object again.
}

// A keeper is another object of the workspace, of another publication, that has copied a related object.
type keeper struct {
	nobody

	record objectsync.Record
}

func (k keeper) Holdings(string, objectsync.Ref) []objectsync.Holding {
	return []objectsync.Holding{{
		Record: k.record, State: types.NamespacedName{Namespace: "states", Name: "another"}, Kept: true,
		Primary: objectsync.Primary{Cluster: "c1", NamespacedName: types.NamespacedName{Name: "another"}},
	}}
}

// TestLeavesSharedHeld shows whose finalizers are removed. When a PublishedResource goes and its copies stay, related
// objects that another one copies keep theirs. When a workspace leaves, all finalizers are removed.
func TestLeavesSharedHeld(t *testing.T) {
	goes, leaves := (*objectsync.Syncer).RemoveFinalizers, (*objectsync.Syncer).Abandon
	for name, tc := range map[string]struct {
		leave  func(*objectsync.Syncer, context.Context, objectsync.Input) error
		shared bool
		held   bool
	}{
		"Alone": {leave: goes}, "Shared": {leave: goes, shared: true, held: true},
		"WorkspaceLeaves": {leave: leaves, shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t, v1alpha1.OriginKCP)
			m.name(1)
			m.fill(1, "b25l")
			res, err := m.syncer.Sync(t.Context(), m.input)
			if err != nil || len(res.Related) != 1 {
				t.Fatalf("want one related object, got %v, %v", res.Related, err)
			}
			if tc.shared {
				m.input.Holders = keeper{record: res.Related[0].Record}
			}
			if err := tc.leave(m.syncer, t.Context(), m.input); err != nil {
				t.Fatal(err)
			}
			related := m.above.get(objectsync.Secrets, types.NamespacedName{Namespace: m.namespace, Name: "s0"})
			if got := objectsync.HasFinalizer(related); got != tc.held {
				t.Errorf("want the related object held: %t, got %t", tc.held, got)
			}
			if objectsync.HasFinalizer(m.above.get(things.Workspace.GroupVersionResource, m.input.Object)) {
				t.Error("want the object let go")
			}
		})
	}
}
