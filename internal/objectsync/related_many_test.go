package objectsync_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// shared creates two objects that name one Secret, which is not there yet.
func (w *world) shared() (s *objectsync.Syncer, second objectsync.Input, origin *corev1.Secret) {
	w.Helper()
	w.create(w.above, thing(w.input.Object))
	w.create(w.above, thing(w.second().Object))
	return w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName"))), w.second(),
		newSecret(w.input.Object.Namespace, "tls", "one")
}

// TestSharedRelatedGoes shows that a related object of the workspace that two objects refer to can be deleted: neither
// keeps it for the other.
func TestSharedRelatedGoes(t *testing.T) {
	w := newWorld(t)
	s, second, origin := w.shared()
	w.create(w.above, origin)
	w.mustSync(s, w.input)
	w.mustSync(s, second)
	kube.Delete(t, w.above, origin)
	w.mustSync(s, w.input)
	w.mustSync(s, second)
	if w.secretOf(w.below, w.cluster, "tls") != nil || w.secretOf(w.above, origin.Namespace, "tls") != nil {
		t.Error("want neither the copy nor the object left")
	}
}

// TestSharedRelatedNotKept shows that an object which refers to a related object and has not copied it yet is no reason
// for another to leave its copy behind, which nobody would keep then.
func TestSharedRelatedNotKept(t *testing.T) {
	w := newWorld(t)
	s, second, origin := w.shared()
	w.mustSync(s, second) // It refers to what is not there.
	w.create(w.above, origin)
	w.mustSync(s, w.input)
	w.delete(w.input)
	w.mustSync(s, w.input)
	w.mustSync(s, second)
	if w.secretOf(w.below, w.cluster, "tls") == nil {
		t.Error("want a copy for the second")
	}
	w.delete(second)
	w.mustSync(s, second)
	kube.Get(t, w.above, client.ObjectKeyFromObject(origin), origin)
	if len(origin.Finalizers) != 0 || w.secretOf(w.below, w.cluster, "tls") != nil {
		t.Errorf("want no copy and no finalizer, got %v", origin.Finalizers)
	}
}
