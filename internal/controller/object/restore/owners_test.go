package restore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestOwnersOfFormerControlPlane shows why docs/how-to/operate-a-fleet.md restores no ownerReferences and no finalizers
// into a new control plane, and starts the provider last. Kubernetes deletes an Object whose owner does not exist, and
// a deleted Object deletes its resource, also one that has never made it: it has the field manager of its name.
func TestOwnersOfFormerControlPlane(t *testing.T) {
	fresh := kube.Server{ControllerManager: true}
	kube.StartServer(t, &fresh)
	fresh.InstallCRDs(t, "../../../../package/crds")
	fc := fresh.Client(t, apis.AddToScheme)
	start := func(t *testing.T) (end func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		wait := provider.StartUntil(t, ctx, fresh.User(t, "provider", "system:masters"))
		return func() { cancel(); wait() }
	}
	for name, tc := range map[string]struct {
		reason string
		change func(build.Object) // beside UID and version
		runs   bool               // The provider does.
		kept   bool               // The Object is.
		left   bool               // The resource is.
	}{
		"AsExported": {reason: "Both go.", change: func(build.Object) {}, runs: true},
		"Stopped": {
			reason: "The finalizer keeps the Object until the provider starts, which deletes the resource.",
			change: func(build.Object) {},
		},
		"StoppedWithoutFinalizers": {
			reason: "The Object goes before the provider knows it.",
			change: func(o build.Object) { o.SetFinalizers(nil) }, left: true,
		},
		"AsInTheGuide": {
			reason: "Without an owner nobody deletes it.", runs: true, kept: true, left: true,
			change: func(o build.Object) { o.SetFinalizers(nil); o.SetOwnerReferences(nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, tns := provide(t), target.Namespace(t)
			config := connect(t, c)
			keep(t, c, config, tns, "kept")
			o := export(t, c, config+"-kept")
			o.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Namespace", Name: "owner", UID: "8f4b4e3c-5b0e-4b7e-9d0c-0e4a8f3f7a11",
			}})
			tc.change(o)
			kube.Create(t, fc, build.Credentials(metav1.NamespaceDefault, config,
				kube.Kubeconfig(t, target.User(t, "provider", "system:masters"))),
				build.Cluster().Config("", config, build.FromSecret(metav1.NamespaceDefault, config)))
			if tc.runs {
				t.Cleanup(start(t))
			}
			kube.Create(t, fc, o)
			awaitCollected(t, fc, o, tc.kept)
			if !tc.runs {
				t.Cleanup(start(t))
			}
			if tc.kept {
				provider.AwaitReady(t, fc, o)
			} else {
				kube.AwaitGone(t, fc, o)
			}
			err := target.Client(t).Get(t.Context(), client.ObjectKey{Namespace: tns, Name: "kept"}, &corev1.ConfigMap{})
			if left := err == nil; left != tc.left || err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("%s\nwant the resource to be left: %t, got %v", tc.reason, tc.left, err)
			}
		})
	}
}

// export stops the care for an Object, and returns what its file would have.
func export(t *testing.T, c client.Client, name string) build.Object {
	t.Helper()
	o := build.Cluster().New()
	o.SetName(name)
	kube.Patch(t, c, o, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	kube.Await(t, c, o, "the Object to be paused", func() (bool, string) {
		synced := o.GetCondition(xpv2.TypeSynced)
		return synced.Reason == xpv2.ReasonReconcilePaused, string(synced.Reason)
	})
	meta.RemoveAnnotations(o, meta.AnnotationKeyReconciliationPaused)
	o.SetUID("")
	o.SetResourceVersion("")
	return o
}

// awaitCollected waits until the garbage collector has deleted an Object, unless it is kept.
func awaitCollected(t *testing.T, c client.Client, o build.Object, kept bool) {
	t.Helper()
	if kept {
		return
	}
	kube.Eventually(t, "Kubernetes to delete the Object", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err) || err == nil && meta.WasDeleted(o), fmt.Sprint(err)
	})
}
