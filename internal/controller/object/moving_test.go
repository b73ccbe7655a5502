package object_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestMovesToOtherTarget shows that an Object which refers to another ProviderConfig leaves nothing on the target it
// leaves, and makes its resource on the other one after that. The other target is the control plane.
func TestMovesToOtherTarget(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		there := w
		there.tc = local.Client(t, apis.AddToScheme)
		// A namespace of that name is to be on both.
		kube.Create(t, there.tc, &corev1.Namespace{ObjectMeta: build.Meta("", w.target)})
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		old := observed(t, o)
		release := hold(t, w.tc, old)

		other := connectAs(t, w, local.User(t, user, "system:masters"))
		edit(t, w.c, o, func() { setConfig(o, other) })
		awaitCondition(t, w.c, o, replacing)
		there.exists(t, emptySettings(w.target), false) // It must not be made before the old one is gone.
		// Until then the old ProviderConfig is in use.
		config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
		kube.Delete(t, w.c, config)
		holds(t, w.c, "the old ProviderConfig stays", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil, message(err)
		}, o)
		release()
		awaitReady(t, w.c, o)
		there.awaitData(t, "settings", "color", "blue")
		w.exists(t, old, false)
		kube.AwaitGone(t, w.c, config)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, there.tc, old)
	})
}

// TestMovesAndIsDeleted shows that an Object which is deleted before it has moved is deleted where it was.
func TestMovesAndIsDeleted(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		edit(t, w.c, o, func() { setConfig(o, "nothing-of-this-name") })
		awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidConnection))
		w.exists(t, emptySettings(w.target), true)
		kube.Remove(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}

// TestMovesFromLostTarget shows what an Object does that leaves a target which does not answer.
func TestMovesFromLostTarget(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		lost := connectAs(t, w, targetUser(t))
		w.config, lost = lost, w.config
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		old := observed(t, o)

		// To have two targets, the old one gets an address at which nobody listens.
		setKubeconfig(t, w.c, w.namespace, "other", kube.Kubeconfig(t, nowhere(kube.Refused(t))))
		awaitCondition(t, w.c, o, failed(commonv1.ReasonTargetUnreachable))
		edit(t, w.c, o, func() {
			setConfig(o, lost)
			o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "moved", "color", "blue"))
		})
		awaitCondition(t, w.c, o, failed(commonv1.ReasonTargetUnreachable),
			"cannot replace ConfigMap "+w.target+"/settings", "spec.unreachableTarget: Orphan")
		w.exists(t, w.kept("moved"), false)

		edit(t, w.c, o, func() { o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
		awaitReady(t, w.c, o)
		w.awaitData(t, "moved", "color", "blue")
		w.exists(t, old, true)
		if m := awaitEvent(t, w.c, o, leftResource); !strings.Contains(m, w.target+"/settings") {
			t.Errorf("event: want it to name the resource, got %q", m)
		}
		kube.Remove(t, w.c, o)
	})
}
