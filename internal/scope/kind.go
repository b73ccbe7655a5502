package scope

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// A Kind is one API kind served in one scope, whose resources refer to ProviderConfigs.
type Kind[T client.Object] struct {
	// GVK of the kind.
	GVK schema.GroupVersionKind
	// New returns an empty object of the kind. NewList returns an empty list, and is nil if the kind is no managed
	// resource.
	New     func() T
	NewList func() resource.ManagedList
	// Configs are the kinds of ProviderConfig the kind may reference.
	Configs Configs

	client client.Client
}

// Ref returns the reference of a resource to its ProviderConfig, empty if it has none.
func (Kind[T]) Ref(o T) xpv2.ProviderConfigReference { return RefOf(o) }

// Through returns a copy of a resource that refers to another ProviderConfig.
func (k Kind[T]) Through(o T, ref xpv2.ProviderConfigReference) T {
	other := o.DeepCopyObject().(T) //nolint:forcetypeassert // It is a copy of one.
	switch u := any(other).(type) {
	case interface{ SetProviderConfigReference(r *xpv2.Reference) }:
		u.SetProviderConfigReference(&xpv2.Reference{Name: ref.Name})
	case interface {
		SetProviderConfigReference(r *xpv2.ProviderConfigReference)
	}:
		u.SetProviderConfigReference(&ref)
	}
	return other
}

// Key returns the name of the ProviderConfig that a resource references, as Config.Key makes it, empty if it references
// none.
func (k Kind[T]) Key(o T) string { return k.Configs.key(o.GetNamespace(), k.Ref(o)) }

// Config returns what that ProviderConfig says. The cause of its error is ErrNoConfig if there is none.
func (k Kind[T]) Config(ctx context.Context, o T) (commonv1.Connection, error) {
	return k.Configs.connection(ctx, k.client, o.GetNamespace(), k.Ref(o))
}

// Leaving reports whether that ProviderConfig exists and is being deleted.
func (k Kind[T]) Leaving(ctx context.Context, o T) (bool, error) {
	pc, _, err := k.Configs.get(ctx, k.client, o.GetNamespace(), k.Ref(o))
	if errors.Is(err, ErrNoConfig) {
		return false, nil
	}
	return err == nil && pc.GetDeletionTimestamp() != nil, err
}

// Track records that a resource uses its ProviderConfig. Without a reference it does nothing: Config reports that.
func (k Kind[T]) Track(ctx context.Context, o T) error {
	c, ok := k.Configs.find(k.Ref(o).Kind)
	if !ok {
		return nil
	}
	return track(ctx, k.client, usageOf(c, o, k.GVK, k.Ref(o).Name))
}

// kindOf returns a kind whose resources may refer to some kinds of ProviderConfigs.
func kindOf[T any, O interface {
	*T
	client.Object
}](gvk schema.GroupVersionKind, c client.Client, configs Configs) Kind[O] {
	return Kind[O]{GVK: gvk, New: func() O { return new(T) }, Configs: configs, client: c}
}

// ClusterObject returns the cluster-scoped Object.
func ClusterObject(c client.Client) Kind[*objectv1alpha2.Object] {
	k := kindOf[objectv1alpha2.Object](objectv1alpha2.ObjectGroupVersionKind, c, Configs{ClusterScopeConfig()})
	k.NewList = func() resource.ManagedList { return &objectv1alpha2.ObjectList{} }
	return k
}

// NamespacedObject returns the namespaced Object.
func NamespacedObject(c client.Client) Kind[*mobjectv1alpha1.Object] {
	k := kindOf[mobjectv1alpha1.Object](mobjectv1alpha1.ObjectGroupVersionKind, c, NamespacedScopeConfigs())
	k.NewList = func() resource.ManagedList { return &mobjectv1alpha1.ObjectList{} }
	return k
}

// Applications returns the KubernetesApplication, which uses the ProviderConfig of the cluster it is scheduled to.
func Applications(c client.Client) Kind[*workloadv1alpha1.KubernetesApplication] {
	return kindOf[workloadv1alpha1.KubernetesApplication](workloadv1alpha1.ApplicationGroupVersionKind, c,
		NamespacedScopeConfigs())
}

// ApplicationResources returns the KubernetesApplicationResource, which is scheduled as its application is.
func ApplicationResources(c client.Client) Kind[*workloadv1alpha1.KubernetesApplicationResource] {
	return kindOf[workloadv1alpha1.KubernetesApplicationResource](workloadv1alpha1.ResourceGroupVersionKind, c,
		NamespacedScopeConfigs())
}

// A CollectionKind is ObservedObjectCollection served in one scope.
type CollectionKind[T client.Object] struct {
	Kind[T]

	// Member is the kind of the members, which live in the namespace of their collection if there is one.
	Member schema.GroupVersionKind
	// NewMember returns an empty member, and NewMembers an empty list of them.
	NewMember  func() client.Object
	NewMembers func() client.ObjectList
}

// ClusterCollection returns the cluster-scoped ObservedObjectCollection.
func ClusterCollection(c client.Client) CollectionKind[*collectionv1alpha1.ObservedObjectCollection] {
	return CollectionKind[*collectionv1alpha1.ObservedObjectCollection]{
		Kind: kindOf[collectionv1alpha1.ObservedObjectCollection](
			collectionv1alpha1.ObservedObjectCollectionGroupVersionKind, c, Configs{ClusterScopeConfig()}),
		Member:     objectv1alpha2.ObjectGroupVersionKind,
		NewMember:  func() client.Object { return &objectv1alpha2.Object{} },
		NewMembers: func() client.ObjectList { return &objectv1alpha2.ObjectList{} },
	}
}

// NamespacedCollection returns the namespaced ObservedObjectCollection.
func NamespacedCollection(c client.Client) CollectionKind[*mcollectionv1alpha1.ObservedObjectCollection] {
	return CollectionKind[*mcollectionv1alpha1.ObservedObjectCollection]{
		Kind: kindOf[mcollectionv1alpha1.ObservedObjectCollection](
			mcollectionv1alpha1.ObservedObjectCollectionGroupVersionKind, c, NamespacedScopeConfigs()),
		Member:     mobjectv1alpha1.ObjectGroupVersionKind,
		NewMember:  func() client.Object { return &mobjectv1alpha1.Object{} },
		NewMembers: func() client.ObjectList { return &mobjectv1alpha1.ObjectList{} },
	}
}

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
	return configs.key(o.GetNamespace(), RefOf(o))
}
