package scope

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// ClusterObject returns the cluster-scoped Object.
func ClusterObject(c client.Client) Kind[*objectv1alpha2.Object] {
	tracker := resource.NewLegacyProviderConfigUsageTracker(c, &pcv1alpha1.ProviderConfigUsage{})
	name := func(o *objectv1alpha2.Object) string {
		if r := o.GetProviderConfigReference(); r != nil {
			return r.Name
		}
		return ""
	}
	return Kind[*objectv1alpha2.Object]{
		GVK:     objectv1alpha2.ObjectGroupVersionKind,
		New:     func() *objectv1alpha2.Object { return &objectv1alpha2.Object{} },
		NewList: func() resource.ManagedList { return &objectv1alpha2.ObjectList{} },
		Ref:     clusterRef,
		Through: clusterThrough,
		Leaving: func(ctx context.Context, o *objectv1alpha2.Object) (bool, error) { return clusterLeaving(ctx, c, o) },
		Key: func(o *objectv1alpha2.Object) string {
			return configKey(pcv1alpha1.ProviderConfigGroupVersionKind, "", name(o))
		},
		Config: func(ctx context.Context, o *objectv1alpha2.Object) (commonv1.Connection, error) {
			pc := &pcv1alpha1.ProviderConfig{}
			err := get(ctx, c, types.NamespacedName{Name: name(o)}, pc)
			return commonv1.Connection{Spec: &pc.Spec}, err
		},
		Track: func(ctx context.Context, o *objectv1alpha2.Object) error {
			return tracked(tracker.Track(ctx, o))
		},
		Configs: []Config{ClusterScopeConfig()},
	}
}

// NamespacedObject returns the namespaced Object.
func NamespacedObject(c client.Client) Kind[*mobjectv1alpha1.Object] {
	tracker := resource.NewProviderConfigUsageTracker(c, &mpcv1alpha1.ProviderConfigUsage{})
	return Kind[*mobjectv1alpha1.Object]{
		GVK:        mobjectv1alpha1.ObjectGroupVersionKind,
		Namespaced: true,
		New:        func() *mobjectv1alpha1.Object { return &mobjectv1alpha1.Object{} },
		NewList:    func() resource.ManagedList { return &mobjectv1alpha1.ObjectList{} },
		Ref:        func(o *mobjectv1alpha1.Object) xpv2.ProviderConfigReference { return namespacedRef(o) },
		Through:    namespacedThrough,
		Leaving: func(ctx context.Context, o *mobjectv1alpha1.Object) (bool, error) {
			return namespacedLeaving(ctx, c, o)
		},
		Key: func(o *mobjectv1alpha1.Object) string {
			return namespacedKey(o)
		},
		Config: func(ctx context.Context, o *mobjectv1alpha1.Object) (commonv1.Connection, error) {
			return namespacedConfig(ctx, c, o)
		},
		Track: func(ctx context.Context, o *mobjectv1alpha1.Object) error {
			return tracked(tracker.Track(ctx, o))
		},
		Configs: NamespacedScopeConfigs(),
	}
}

// A namespacedUser is a namespaced resource that uses a ProviderConfig.
type namespacedUser interface {
	GetNamespace() string
	GetProviderConfigReference() *xpv2.ProviderConfigReference
}

func namespacedKey(o namespacedUser) string {
	r := o.GetProviderConfigReference()
	if r == nil {
		return ""
	}
	gvk := mpcv1alpha1.GroupVersion.WithKind(r.Kind)
	if r.Kind == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind {
		return configKey(gvk, "", r.Name)
	}
	return configKey(gvk, o.GetNamespace(), r.Name)
}

func namespacedConfig(ctx context.Context, c client.Client, o namespacedUser) (commonv1.Connection, error) {
	r := o.GetProviderConfigReference()
	if r == nil {
		return commonv1.Connection{}, errors.Wrap(ErrNoConfig, "spec.providerConfigRef is not set")
	}
	switch r.Kind {
	case mpcv1alpha1.ProviderConfigGroupVersionKind.Kind:
		pc := &mpcv1alpha1.ProviderConfig{}
		err := get(ctx, c, types.NamespacedName{Namespace: o.GetNamespace(), Name: r.Name}, pc)
		if errors.Is(err, ErrNoConfig) &&
			get(ctx, c, types.NamespacedName{Name: r.Name}, &mpcv1alpha1.ClusterProviderConfig{}) == nil {
			err = noConfigError(fmt.Sprintf("ProviderConfig %q does not exist in namespace %q, "+
				"but a ClusterProviderConfig of that name does: "+
				"set kind: ClusterProviderConfig in spec.providerConfigRef", r.Name, o.GetNamespace()))
		}
		return commonv1.Connection{Spec: &pc.Spec, Tenant: pc.GetNamespace()}, err
	case mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind:
		pc := &mpcv1alpha1.ClusterProviderConfig{}
		err := get(ctx, c, types.NamespacedName{Name: r.Name}, pc)
		return commonv1.Connection{Spec: &pc.Spec}, err
	}
	return commonv1.Connection{}, noConfigError(fmt.Sprintf("kind %q of spec.providerConfigRef is neither "+
		"ProviderConfig nor ClusterProviderConfig", r.Kind))
}

// tracked ignores that a usage exists: the cache of usages may be a moment behind our own creation of it.
// See https://github.com/crossplane-contrib/provider-upjet-gcp/issues/1002.
func tracked(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return errors.Wrap(err, "cannot record the use of the ProviderConfig")
}
