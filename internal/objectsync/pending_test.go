package objectsync_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSharedByNewOnes shows that of objects of a workspace that are new, and share a Secret, none is told that its name
// is taken.
func TestSharedByNewOnes(t *testing.T) {
	w := newWorld(t)
	s, second, origin := w.shared()
	w.create(w.above, origin)
	late := second
	late.Service = before(late.Service, "create", "tls", func() { w.mustSync(s, w.input) })
	r, err := s.Sync(t.Context(), late)
	if got := reasons([]objectsync.Result{r}); !apierrors.IsConflict(err) || got != "ObjectAccepted ObjectPlaced" {
		t.Errorf("want a conflict and no warning, got %v, %s", err, got)
	}
	w.mustSync(s, second)
	w.delete(w.input)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") == nil {
		t.Error("want the copy to stay for the second")
	}
}

// delete deletes the object of the consumer.
func (w *world) delete(in objectsync.Input) {
	w.Helper()
	kube.Delete(w, w.above, thing(in.Object))
}

// TestOwnBeforeCopy shows that a Secret of the consumer is not taken for a copy, and stays, which has come before the
// copy was created, and has all of what the copy was to have, and more.
func TestOwnBeforeCopy(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	spec.Related[0].Cleanup = true
	spec.ExistingObjects = v1alpha1.ExistingObjectsRefuse
	s := w.syncer(spec)
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	empty := newSecret(w.cluster, "tls", "")
	empty.Data = nil
	w.create(w.below, empty)
	stopped(t, s, w.input, &fault{left: 2})
	if w.secretOf(w.above, w.input.Object.Namespace, "tls") != nil {
		t.Fatal("want no copy made")
	}
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "own"))
	w.refused(s, w.input, objectsync.ErrForeign)
	w.delete(w.input)
	w.mustSync(s, w.input)
	if got := w.secretOf(w.above, w.input.Object.Namespace, "tls")["k"]; got != "own" || w.source(w.input) != nil {
		t.Errorf("want the consumer's Secret left alone, and the object gone, got %q", got)
	}
}

// TestEndBeforeSeen shows that a copy on the service cluster whose creation was not answered is deleted with its
// object, even if the watch lags behind.
func TestEndBeforeSeen(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	stopped(t, s, w.input, &fault{left: 2, after: true})
	if w.secretOf(w.below, w.cluster, "tls") == nil {
		t.Fatal("want the copy made")
	}
	w.delete(w.input)
	blind := w.input
	blind.Service = veil(blind.Service, "tls", nil)
	if _, err := s.Sync(t.Context(), blind); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, got %v", err)
	}
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") != nil || w.source(w.input) != nil {
		t.Error("want the copy and the object gone")
	}
}
