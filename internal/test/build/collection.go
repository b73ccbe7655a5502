package build

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
)

// A Collection is an ObservedObjectCollection of either scope.
type Collection interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
	Desired() *commonv1.ObservedObjectCollectionSpec
	Observed() *commonv1.ObservedObjectCollectionStatus
}

// A CollectionScope makes the resources of one scope, collections included.
type CollectionScope struct {
	Scope

	// NewCollection returns an empty collection.
	NewCollection func() Collection
	// Collection returns a collection that selects resources on the target of a ProviderConfig.
	Collection func(namespace, name, config string, of commonv1.ObserveObjects) Collection
	// SetConfig makes a collection refer to another ProviderConfig of its scope.
	SetConfig func(c Collection, config string)
}

// CollectionScopes returns both scopes.
func CollectionScopes() []CollectionScope {
	return []CollectionScope{clusterCollections(), namespacedCollections()}
}

func clusterCollections() CollectionScope {
	type collection = collectionv1alpha1.ObservedObjectCollection
	return CollectionScope{
		Scope:         Cluster(),
		NewCollection: func() Collection { return &collection{} },
		Collection: func(_, name, config string, of commonv1.ObserveObjects) Collection {
			c := &collection{ObjectMeta: metav1.ObjectMeta{Name: name}}
			c.Spec.ProviderConfigReference = &xpv2.Reference{Name: config}
			c.Spec.ObserveObjects = of
			return c
		},
		SetConfig: func(c Collection, config string) { c.(*collection).Spec.ProviderConfigReference.Name = config },
	}
}

func namespacedCollections() CollectionScope {
	type collection = mcollectionv1alpha1.ObservedObjectCollection
	return CollectionScope{
		Scope:         Namespaced(),
		NewCollection: func() Collection { return &collection{} },
		Collection: func(namespace, name, config string, of commonv1.ObserveObjects) Collection {
			c := &collection{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			c.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config}
			c.Spec.ObserveObjects = of
			return c
		},
		SetConfig: func(c Collection, config string) { c.(*collection).Spec.ProviderConfigReference.Name = config },
	}
}

// ConfigMaps selects the ConfigMaps of a namespace with a label.
func ConfigMaps(namespace, label, value string) commonv1.ObserveObjects {
	return commonv1.ObserveObjects{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace,
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
	}
}
