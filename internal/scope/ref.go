package scope

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

func clusterRef(o *objectv1alpha2.Object) xpv2.ProviderConfigReference {
	r := o.GetProviderConfigReference()
	if r == nil {
		return xpv2.ProviderConfigReference{}
	}
	return xpv2.ProviderConfigReference{Kind: pcv1alpha1.ProviderConfigGroupVersionKind.Kind, Name: r.Name}
}

func clusterThrough(o *objectv1alpha2.Object, ref xpv2.ProviderConfigReference) *objectv1alpha2.Object {
	other := o.DeepCopy()
	other.SetProviderConfigReference(&xpv2.Reference{Name: ref.Name})
	return other
}

func clusterLeaving(ctx context.Context, c client.Client, o *objectv1alpha2.Object) (bool, error) {
	return leaving(ctx, c, types.NamespacedName{Name: clusterRef(o).Name}, &pcv1alpha1.ProviderConfig{})
}

func namespacedRef(o namespacedUser) xpv2.ProviderConfigReference {
	if r := o.GetProviderConfigReference(); r != nil {
		return *r
	}
	return xpv2.ProviderConfigReference{}
}

func namespacedThrough(o *mobjectv1alpha1.Object, ref xpv2.ProviderConfigReference) *mobjectv1alpha1.Object {
	other := o.DeepCopy()
	other.SetProviderConfigReference(&ref)
	return other
}

func namespacedLeaving(ctx context.Context, c client.Client, o namespacedUser) (bool, error) {
	r := namespacedRef(o)
	if r.Kind == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind {
		return leaving(ctx, c, types.NamespacedName{Name: r.Name}, &mpcv1alpha1.ClusterProviderConfig{})
	}
	return leaving(ctx, c, types.NamespacedName{Namespace: o.GetNamespace(), Name: r.Name},
		&mpcv1alpha1.ProviderConfig{})
}
