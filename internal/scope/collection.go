package scope

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// A CollectionKind is ObservedObjectCollection served in one scope. It is no Kind, as a collection is no managed
// resource.
type CollectionKind[T client.Object] struct {
	// GVK of the kind.
	GVK schema.GroupVersionKind
	// New returns an empty collection.
	New func() T
	// Key returns the name of the ProviderConfig that a collection references, as ConfigKey makes it.
	Key func(T) string
	// Config returns what that ProviderConfig says. The cause of its error is ErrNoConfig if there is none.
	Config func(context.Context, T) (commonv1.Connection, error)
	// Track records that the collection uses its ProviderConfig.
	Track func(context.Context, T) error
	// Configs are the kinds of ProviderConfig the kind may reference.
	Configs []Config

	// Member is the kind of the members, which live in the namespace of their collection if there is one.
	Member schema.GroupVersionKind
	// NewMember returns an empty member, and NewMembers an empty list of them.
	NewMember  func() client.Object
	NewMembers func() client.ObjectList
	// Ref returns the providerConfigRef of a collection or of a member, nil if it has none.
	Ref func(client.Object) any
}

// ClusterCollection returns the cluster-scoped ObservedObjectCollection.
func ClusterCollection(c client.Client) CollectionKind[*collectionv1alpha1.ObservedObjectCollection] {
	type collection = *collectionv1alpha1.ObservedObjectCollection
	name := func(o collection) string {
		if r := o.GetProviderConfigReference(); r != nil {
			return r.Name
		}
		return ""
	}
	return CollectionKind[collection]{
		GVK: collectionv1alpha1.ObservedObjectCollectionGroupVersionKind,
		New: func() collection { return &collectionv1alpha1.ObservedObjectCollection{} },
		Key: func(o collection) string { return configKey(pcv1alpha1.ProviderConfigGroupVersionKind, "", name(o)) },
		Config: func(ctx context.Context, o collection) (commonv1.Connection, error) {
			pc := &pcv1alpha1.ProviderConfig{}
			err := get(ctx, c, types.NamespacedName{Name: name(o)}, pc)
			return commonv1.Connection{Spec: &pc.Spec}, err
		},
		Track: func(ctx context.Context, o collection) error {
			u := &pcv1alpha1.ProviderConfigUsage{}
			u.SetLabels(map[string]string{xpv2.LabelKeyProviderName: name(o)})
			u.ProviderConfigReference = xpv2.Reference{Name: name(o)}
			u.ResourceReference = describe(u, o, collectionv1alpha1.ObservedObjectCollectionGroupVersionKind)
			return trackUse(ctx, c, u, func(current runtime.Object) bool {
				was, ok := current.(*pcv1alpha1.ProviderConfigUsage)
				return ok && was.ProviderConfigReference.Name != name(o)
			})
		},
		Configs:    []Config{ClusterScopeConfig()},
		Member:     objectv1alpha2.ObjectGroupVersionKind,
		NewMember:  func() client.Object { return &objectv1alpha2.Object{} },
		NewMembers: func() client.ObjectList { return &objectv1alpha2.ObjectList{} },
		Ref:        refOf[*xpv2.Reference],
	}
}

// NamespacedCollection returns the namespaced ObservedObjectCollection.
func NamespacedCollection(c client.Client) CollectionKind[*mcollectionv1alpha1.ObservedObjectCollection] {
	type collection = *mcollectionv1alpha1.ObservedObjectCollection
	return CollectionKind[collection]{
		GVK: mcollectionv1alpha1.ObservedObjectCollectionGroupVersionKind,
		New: func() collection { return &mcollectionv1alpha1.ObservedObjectCollection{} },
		Key: func(o collection) string { return namespacedKey(o) },
		Config: func(ctx context.Context, o collection) (commonv1.Connection, error) {
			return namespacedConfig(ctx, c, o)
		},
		Track: func(ctx context.Context, o collection) error {
			return trackNamespaced(ctx, c, o, mcollectionv1alpha1.ObservedObjectCollectionGroupVersionKind)
		},
		Configs:    NamespacedScopeConfigs(),
		Member:     mobjectv1alpha1.ObjectGroupVersionKind,
		NewMember:  func() client.Object { return &mobjectv1alpha1.Object{} },
		NewMembers: func() client.ObjectList { return &mobjectv1alpha1.ObjectList{} },
		Ref:        refOf[*xpv2.ProviderConfigReference],
	}
}

// refOf returns the providerConfigRef of a resource whose reference is of a type.
func refOf[R *xpv2.Reference | *xpv2.ProviderConfigReference](o client.Object) any {
	user, ok := o.(interface{ GetProviderConfigReference() R })
	if !ok {
		return nil
	}
	if r := user.GetProviderConfigReference(); r != nil {
		return r
	}
	return nil
}

// describe makes a record of use that of a user which is no managed resource, and returns the reference to the user.
// The record goes with its user, as its controller.
func describe(usage, user client.Object, gvk schema.GroupVersionKind) xpv2.TypedReference {
	usage.SetName(string(user.GetUID()))
	usage.SetNamespace(user.GetNamespace())
	ref := meta.TypedReferenceTo(user, gvk)
	usage.SetOwnerReferences([]metav1.OwnerReference{meta.AsController(ref)})
	return xpv2.TypedReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}
}

// trackUse writes a record of use, unless it is there and not stale.
func trackUse(ctx context.Context, c client.Client, usage client.Object,
	stale func(current runtime.Object) bool,
) error {
	err := resource.NewAPIUpdatingApplicator(c).Apply(ctx, usage,
		resource.MustBeControllableBy(metav1.GetControllerOf(usage).UID),
		resource.AllowUpdateIf(func(current, _ runtime.Object) bool { return stale(current) }))
	return tracked(errors.WithStack(resource.Ignore(resource.IsNotAllowed, err)))
}
