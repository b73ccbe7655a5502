package objectsync_test

import (
	"testing"

	"github.com/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

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
		abandoned := another.Abandon(w.Context(), w.input)
		if err := kerrors.NewAggregate([]error{
			released, abandoned, another.RemoveFinalizers(w.Context(), w.input),
		}); err != nil {
			w.Error(err)
		}
	})
	if len(below) != 0 {
		w.Errorf("want nothing written, got %v", below)
	}
	w.mustSync(one, w.input) // It holds the object again.
}
