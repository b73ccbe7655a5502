package scope

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// observed is an Object of either scope.
type observed interface {
	Observed() *commonv1.ObjectObservation
}

// Holder returns the key of the ProviderConfig in whose slot a resource of ours is. It is empty for what goes through
// none: applications, which are scheduled, and PublishedResources of the cluster that the provider runs in.
//
// An Object that moves to another ProviderConfig is in the slot of the one that it leaves, until that has dealt with
// its resource. One that has not seen a resource is in the slot that has claimed it, as that may be about to make one.
func Holder(o client.Object) string {
	configs := NamespacedScopeConfigs()
	switch o := o.(type) {
	case *workloadv1alpha1.KubernetesApplication:
		return ""
	case *publishedv1alpha1.PublishedResource:
		if r := o.Spec.ServiceClusterConfigReference; r != nil {
			return (*Publisher)(nil).Key(r.Name)
		}
		return ""
	case *mpcv1alpha1.ProviderConfig:
		return configs[0].Key(o)
	case *mpcv1alpha1.ClusterProviderConfig:
		return configs[1].Key(o)
	case *pcv1alpha1.ProviderConfig:
		return ClusterScopeConfig().Key(o)
	case *objectv1alpha2.Object, *collectionv1alpha1.ObservedObjectCollection:
		configs = Configs{ClusterScopeConfig()}
	}
	if seen, ok := o.(observed); ok {
		if ref := seen.Observed().ProviderConfigReference; ref != nil {
			return configs.key(o.GetNamespace(), *ref)
		}
		if claim := o.GetAnnotations()[commonv1.AnnotationKeyClaim]; claim != "" {
			return claim
		}
	}
	return configs.key(o.GetNamespace(), configs.ref(o))
}
