package scope

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// A Config is a kind of ProviderConfig.
type Config struct {
	// Kinds are the kinds of the ProviderConfig and of the records of its use.
	Kinds resource.ProviderConfigKinds
	// New returns an empty ProviderConfig, and NewUsage an empty record.
	New      func() resource.ProviderConfig
	NewUsage func() client.Object
	// Users are the kinds of resources that may refer to the ProviderConfig and have something left to do on its
	// target.
	Users []User
	// Namespaced reports whether the ProviderConfig lives in the namespace of its users.
	Namespaced bool
}

// A User is a kind of resources that refer to ProviderConfigs.
type User struct {
	// NewList returns an empty list of the kind.
	NewList func() client.ObjectList
	// Finalizer is the one that such a resource has as long as it may have something left to do on its target.
	Finalizer string
}

// Key returns the name of a ProviderConfig of this kind that is unique among all kinds.
func (c Config) Key(pc client.Object) string {
	return configKey(c.Kinds.Config.GroupKind(), pc.GetNamespace(), pc.GetName())
}

// Connection returns what a ProviderConfig of this kind says.
func (c Config) Connection(pc resource.ProviderConfig) commonv1.Connection {
	spec, _ := Parts(pc)
	connection := commonv1.Connection{Spec: spec, Tenant: pc.GetNamespace()}
	if shared, ok := pc.(*mpcv1alpha1.ClusterProviderConfig); ok {
		connection.Shared = &commonv1.Sharing{Name: shared.GetName(), Allowed: shared.Spec.AllowedNamespaces}
	}
	return connection
}

func configKey(kind schema.GroupKind, namespace, name string) string {
	return kind.String() + "/" + namespace + "/" + name
}

// in returns the ProviderConfig of a name that users in a namespace may refer to.
func (c Config) in(namespace, name string) client.ObjectKey {
	if !c.Namespaced {
		namespace = ""
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// Refs returns the keys of the ProviderConfigs of this kind that a resource refers to: the one in its spec, and the one
// through which it was last seen.
func (c Config) Refs(user client.Object) []client.ObjectKey {
	refs := []xpv2.ProviderConfigReference{RefOf(user)}
	if o, ok := user.(observed); ok && o.Observed().ProviderConfigReference != nil {
		refs = append(refs, *o.Observed().ProviderConfigReference)
	}
	var found []client.ObjectKey
	for _, r := range refs {
		if key := c.in(user.GetNamespace(), r.Name); r.Kind == c.Kinds.Config.Kind && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	return found
}

// HasUsed reports whether a resource is known to have had something on the target of a ProviderConfig. Of applications
// their resources tell.
func HasUsed(user client.Object) bool {
	switch o := user.(type) {
	case observed:
		return o.Observed().ProviderConfigReference != nil
	case *workloadv1alpha1.KubernetesApplicationResource:
		return o.Status.Submitted != nil || len(o.Status.Secrets) > 0
	}
	return false
}

// ClusterScopeConfig returns the ProviderConfig of cluster-scoped resources.
func ClusterScopeConfig() Config {
	return Config{
		Kinds: resource.ProviderConfigKinds{
			Config:    pcv1alpha1.ProviderConfigGroupVersionKind,
			Usage:     pcv1alpha1.ProviderConfigUsageGroupVersionKind,
			UsageList: pcv1alpha1.ProviderConfigUsageListGroupVersionKind,
		},
		New:      func() resource.ProviderConfig { return &pcv1alpha1.ProviderConfig{} },
		NewUsage: func() client.Object { return &pcv1alpha1.ProviderConfigUsage{} },

		Users: []User{{
			NewList:   func() client.ObjectList { return &objectv1alpha2.ObjectList{} },
			Finalizer: managed.FinalizerName,
		}},
	}
}

// NamespacedScopeConfigs returns the ProviderConfigs of namespaced resources. Both record their use in the same kind,
// in the namespace of the user.
func NamespacedScopeConfigs() Configs {
	kinds := resource.ProviderConfigKinds{
		Config:    mpcv1alpha1.ProviderConfigGroupVersionKind,
		Usage:     mpcv1alpha1.ProviderConfigUsageGroupVersionKind,
		UsageList: mpcv1alpha1.ProviderConfigUsageListGroupVersionKind,
	}
	shared := kinds
	shared.Config = mpcv1alpha1.ClusterProviderConfigGroupVersionKind
	usage := func() client.Object { return &mpcv1alpha1.ProviderConfigUsage{} }
	return Configs{
		{
			Kinds: kinds, NewUsage: usage, Users: namespacedUsers(), Namespaced: true,
			New: func() resource.ProviderConfig { return &mpcv1alpha1.ProviderConfig{} },
		},
		{
			Kinds: shared, NewUsage: usage, Users: namespacedUsers(),
			New: func() resource.ProviderConfig { return &mpcv1alpha1.ClusterProviderConfig{} },
		},
	}
}

func namespacedUsers() []User {
	return []User{{
		NewList:   func() client.ObjectList { return &workloadv1alpha1.KubernetesApplicationList{} },
		Finalizer: workloadv1alpha1.FinalizerApplication,
	}, {
		NewList:   func() client.ObjectList { return &workloadv1alpha1.KubernetesApplicationResourceList{} },
		Finalizer: workloadv1alpha1.FinalizerResource,
	}, {
		NewList:   func() client.ObjectList { return &mobjectv1alpha1.ObjectList{} },
		Finalizer: managed.FinalizerName,
	}}
}

// Parts returns what a ProviderConfig says and what is observed of it.
func Parts(pc resource.ProviderConfig) (*commonv1.ProviderConfigSpec, *commonv1.ProviderConfigStatus) {
	switch pc := pc.(type) {
	case *pcv1alpha1.ProviderConfig:
		return &pc.Spec, &pc.Status
	case *mpcv1alpha1.ProviderConfig:
		return &pc.Spec, &pc.Status
	case *mpcv1alpha1.ClusterProviderConfig:
		return &pc.Spec.ProviderConfigSpec, &pc.Status
	}
	return nil, nil
}
