package scope

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// ClusterScopeConfig returns the ProviderConfig of cluster-scoped resources.
func ClusterScopeConfig() Config {
	return Config{
		Kinds: resource.ProviderConfigKinds{
			Config:    pcv1alpha1.ProviderConfigGroupVersionKind,
			Usage:     pcv1alpha1.ProviderConfigUsageGroupVersionKind,
			UsageList: pcv1alpha1.ProviderConfigUsageListGroupVersionKind,
		},
		New:      func() resource.ProviderConfig { return &pcv1alpha1.ProviderConfig{} },
		Parts:    partsOf(func(pc *pcv1alpha1.ProviderConfig) (*spec, *status) { return &pc.Spec, &pc.Status }),
		NewUsage: func() client.Object { return &pcv1alpha1.ProviderConfigUsage{} },

		Users: []User{{
			GVK:       objectv1alpha2.ObjectGroupVersionKind,
			New:       func() client.Object { return &objectv1alpha2.Object{} },
			NewList:   func() client.ObjectList { return &objectv1alpha2.ObjectList{} },
			Finalizer: managed.FinalizerName,
		}},
	}
}

// NamespacedScopeConfigs returns the ProviderConfigs of namespaced resources. Both record their use in the same kind,
// in the namespace of the user.
func NamespacedScopeConfigs() []Config {
	kinds := resource.ProviderConfigKinds{
		Config:    mpcv1alpha1.ProviderConfigGroupVersionKind,
		Usage:     mpcv1alpha1.ProviderConfigUsageGroupVersionKind,
		UsageList: mpcv1alpha1.ProviderConfigUsageListGroupVersionKind,
	}
	shared := kinds
	shared.Config = mpcv1alpha1.ClusterProviderConfigGroupVersionKind
	usage := func() client.Object { return &mpcv1alpha1.ProviderConfigUsage{} }
	users := append(workloads(), User{
		GVK:       mobjectv1alpha1.ObjectGroupVersionKind,
		New:       func() client.Object { return &mobjectv1alpha1.Object{} },
		NewList:   func() client.ObjectList { return &mobjectv1alpha1.ObjectList{} },
		Finalizer: managed.FinalizerName,
	})
	return []Config{
		{
			Kinds: kinds, NewUsage: usage, Users: users, Namespaced: true,
			New:   func() resource.ProviderConfig { return &mpcv1alpha1.ProviderConfig{} },
			Parts: partsOf(func(pc *mpcv1alpha1.ProviderConfig) (*spec, *status) { return &pc.Spec, &pc.Status }),
		},
		{
			Kinds: shared, NewUsage: usage, Users: users,
			New: func() resource.ProviderConfig { return &mpcv1alpha1.ClusterProviderConfig{} },
			Parts: partsOf(func(pc *mpcv1alpha1.ClusterProviderConfig) (*spec, *status) {
				return &pc.Spec, &pc.Status
			}),
		},
	}
}

type (
	spec   = commonv1.ProviderConfigSpec
	status = commonv1.ProviderConfigStatus
)

// partsOf returns how spec and status of ProviderConfigs of one type are reached.
func partsOf[T resource.ProviderConfig](parts func(T) (*spec, *status)) func(resource.ProviderConfig) (*spec, *status) {
	return func(pc resource.ProviderConfig) (*spec, *status) {
		if typed, ok := pc.(T); ok {
			return parts(typed)
		}
		return nil, nil
	}
}
