package objectsync_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// meddled returns an input whose service cluster does something else before it makes Secret tls, and that may end with
// that.
func meddled(in objectsync.Input, do func(), ends bool) objectsync.Input {
	hit := false
	in.Service = tap(in.Service, func(w *write) error {
		if w.verb == "create" && w.name == "tls" {
			do()
			hit = true
		}
		if w.verb == "patch" && ends && hit {
			return errBoom
		}
		return w.send()
	})
	return in
}

// TestEndBeforeForgetting shows that a copy whose making was refused is not ours, and stays, if the program ends before
// that is remembered.
func TestEndBeforeForgetting(t *testing.T) {
	for name, synced := range map[string]bool{"Synced": true, "DeletedAtOnce": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
			shared := inShared(w, open(spec))
			s := w.syncer(spec)
			late := w.tenant()
			for _, in := range []objectsync.Input{w.input, late} {
				w.create(w.above, thing(in.Object))
				w.create(w.above, newSecret(in.Object.Namespace, "tls", in.Workspace.Cluster))
			}
			if _, err := s.Sync(t.Context(), meddled(late, func() { w.mustSync(s, w.input) }, true)); err == nil {
				t.Fatal("want an error")
			}
			if synced {
				w.refused(s, late, objectsync.ErrForeign)
				w.patch(w.above, newSecret(late.Object.Namespace, "tls", ""), `{"data":{"k":"dHdv"}}`)
				w.refused(s, late, objectsync.ErrForeign)
			}
			kube.Delete(t, w.above, thing(late.Object))
			w.mustSync(s, late)
			if got := w.secretOf(w.below, shared, "tls")["k"]; got != w.cluster {
				t.Errorf("want the copy of who was first, got %q", got)
			}
			if w.source(late) != nil {
				t.Error("want the object gone")
			}
		})
	}
}

// TestSharedByNewOnes shows that of objects of a workspace that are new, and share a Secret, none is told that its name
// is taken.
func TestSharedByNewOnes(t *testing.T) {
	w := newWorld(t)
	s, second, origin := w.shared()
	w.create(w.above, origin)
	r, err := s.Sync(t.Context(), meddled(second, func() { w.mustSync(s, w.input) }, false))
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

// upward returns a spec that copies a Secret of the service cluster into the workspace, and deletes the copy with its
// object.
func upward() *v1alpha1.PublishedResourceSpec {
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	spec.Related[0].Cleanup = true
	return spec
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
	spec := upward()
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
