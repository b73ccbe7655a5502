package scope

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// A Scheduled is a namespaced resource that uses the ProviderConfig of the cluster it is scheduled to.
type Scheduled interface {
	client.Object
	namespacedUser
}

// A Workload is a kind that is scheduled to clusters. It has one scope only.
type Workload struct {
	client client.Client
	gvk    schema.GroupVersionKind
}

// NewWorkload returns the Workload of a kind.
func NewWorkload(c client.Client, gvk schema.GroupVersionKind) Workload {
	return Workload{client: c, gvk: gvk}
}

// Key returns the name of the ProviderConfig that a resource references, as ConfigKey makes it.
func (w Workload) Key(o Scheduled) string { return namespacedKey(o) }

// Config returns what that ProviderConfig says. The cause of its error is ErrNoConfig if there is none.
func (w Workload) Config(ctx context.Context, o Scheduled) (commonv1.Connection, error) {
	return namespacedConfig(ctx, w.client, o)
}

// Leaving reports whether that ProviderConfig exists and is being deleted.
func (w Workload) Leaving(ctx context.Context, o Scheduled) (bool, error) {
	return namespacedLeaving(ctx, w.client, o)
}

// Track records that a resource uses its ProviderConfig.
func (w Workload) Track(ctx context.Context, o Scheduled) error {
	return trackNamespaced(ctx, w.client, o, w.gvk)
}

// workloads returns the kinds that are scheduled to clusters.
func workloads() []User {
	return []User{{
		GVK:       workloadv1alpha1.ApplicationGroupVersionKind,
		New:       func() client.Object { return &workloadv1alpha1.KubernetesApplication{} },
		NewList:   func() client.ObjectList { return &workloadv1alpha1.KubernetesApplicationList{} },
		Finalizer: workloadv1alpha1.FinalizerApplication,
	}, {
		GVK:       workloadv1alpha1.ResourceGroupVersionKind,
		New:       func() client.Object { return &workloadv1alpha1.KubernetesApplicationResource{} },
		NewList:   func() client.ObjectList { return &workloadv1alpha1.KubernetesApplicationResourceList{} },
		Finalizer: workloadv1alpha1.FinalizerResource,
	}}
}

// trackNamespaced records that a namespaced resource which is no managed resource uses its ProviderConfig.
func trackNamespaced(ctx context.Context, c client.Client, o Scheduled, gvk schema.GroupVersionKind) error {
	r := o.GetProviderConfigReference()
	if r == nil {
		return nil // Config says so.
	}
	u := &mpcv1alpha1.ProviderConfigUsage{}
	u.SetLabels(map[string]string{xpv2.LabelKeyProviderName: r.Name, xpv2.LabelKeyProviderKind: r.Kind})
	u.ProviderConfigReference = *r
	u.ResourceReference = describe(u, o, gvk)
	return trackUse(ctx, c, u, func(current runtime.Object) bool {
		was, ok := current.(*mpcv1alpha1.ProviderConfigUsage)
		return ok && was.ProviderConfigReference != *r
	})
}
