package application_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLostResource shows that a KubernetesApplicationResource which is gone although the server has accepted its
// finalizer leaves nothing on the cluster: neither its resource nor the copy of a Secret.
func TestLostResource(t *testing.T) {
	w := newWorld(t)
	group := schema.GroupResource{
		Group: workloadv1alpha1.ResourceGroupVersionKind.Group, Resource: "kubernetesapplicationresources",
	}
	held := local.HoldDeletion(t, group, func(n types.NamespacedName) bool {
		now := &resource{}
		return w.c.Get(t.Context(), n, now) == nil && now.Status.Submitted != nil
	})
	o := &resource{ObjectMeta: build.Meta(w.ns, "settings")} // Without a cluster it gets no finalizer.
	o.SetLabels(held.Labels)
	o.Spec.ResourceTemplateSpec = build.ResourceTemplate("settings",
		build.ConfigMap(w.tns, "settings", "color", "blue"), "password").Spec
	kube.Create(t, w.c, secret(w.ns, "password", "value", "hidden"), o)
	awaitEnd := held.Delete(t, w.c, o)
	change(t, w.c, o, func(o *resource) {
		o.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: w.ns}
	})
	awaitEnd()
	if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: "settings"},
		o); !apierrors.IsNotFound(err) {
		t.Fatalf("it must be gone without its finalizer having been removed: %v", err)
	}
	kube.AwaitGone(t, w.tc, &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "settings")},
		&corev1.Secret{ObjectMeta: build.Meta(w.tns, "settings-password")})
}
