package scope

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// ErrNoConfig means that a resource's providerConfigRef names nothing that exists.
var ErrNoConfig = errors.New("ProviderConfig does not exist")

// A Kind is one API kind served in one scope.
type Kind[T resource.Managed] struct {
	// GVK of the kind.
	GVK schema.GroupVersionKind
	// Namespaced reports whether resources of the kind live in namespaces.
	Namespaced bool
	// New returns an empty object of the kind, and NewList an empty list.
	New     func() T
	NewList func() resource.ManagedList
	// Ref returns the reference of a resource to its ProviderConfig, empty if it has none.
	Ref func(T) xpv2.ProviderConfigReference
	// Through returns a copy of a resource that refers to another ProviderConfig.
	Through func(T, xpv2.ProviderConfigReference) T
	// Key returns the name of the ProviderConfig that a resource references, as ConfigKey makes it.
	Key func(T) string
	// Config returns what that ProviderConfig says. The cause of its error is ErrNoConfig if there is none.
	Config func(context.Context, T) (commonv1.Connection, error)
	// Leaving reports whether that ProviderConfig exists and is being deleted.
	Leaving func(context.Context, T) (bool, error)
	// Track records that the resource uses its ProviderConfig.
	Track func(context.Context, T) error
	// Configs are the kinds of ProviderConfig the kind may reference.
	Configs []Config
}

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
	// Parts returns what a ProviderConfig of this kind says and what is observed of it, nil for one of another.
	Parts func(resource.ProviderConfig) (*commonv1.ProviderConfigSpec, *commonv1.ProviderConfigStatus)
	// Namespaced reports whether the ProviderConfig lives in the namespace of its users.
	Namespaced bool
}

// A User is a kind of resources that refer to ProviderConfigs.
type User struct {
	// GVK of the kind.
	GVK schema.GroupVersionKind
	// New returns an empty resource of the kind, and NewList an empty list.
	New     func() client.Object
	NewList func() client.ObjectList
	// Finalizer is the one that such a resource has as long as it may have something left to do on its target.
	Finalizer string
}

// Key returns the name of a ProviderConfig of this kind that is unique among all kinds.
func (c Config) Key(pc client.Object) string {
	return configKey(c.Kinds.Config, pc.GetNamespace(), pc.GetName())
}

// Named returns the ProviderConfig of a key, and whether it is one of this kind.
func (c Config) Named(key string) (types.NamespacedName, bool) {
	name, ok := strings.CutPrefix(key, c.Kinds.Config.GroupKind().String()+"/")
	namespace, name, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

func configKey(gvk schema.GroupVersionKind, namespace, name string) string {
	return gvk.GroupKind().String() + "/" + namespace + "/" + name
}

// leaving reports whether a ProviderConfig exists and is being deleted.
func leaving(ctx context.Context, c client.Client, key client.ObjectKey, pc client.Object) (bool, error) {
	err := get(ctx, c, key, pc)
	if errors.Is(err, ErrNoConfig) {
		return false, nil
	}
	return err == nil && pc.GetDeletionTimestamp() != nil, err
}

// A noConfigError says that a ProviderConfig does not exist, and what to do about it. It is ErrNoConfig.
type noConfigError string

func (e noConfigError) Error() string { return string(e) }

// Is reports whether the target is ErrNoConfig.
func (noConfigError) Is(target error) bool { return target == ErrNoConfig }

// get reads a ProviderConfig.
func get(ctx context.Context, c client.Client, key client.ObjectKey, pc client.Object) error {
	err := client.IgnoreNotFound(c.Get(ctx, key, pc))
	if err != nil {
		return errors.Wrapf(err, "cannot get ProviderConfig %q", key.Name)
	}
	if pc.GetUID() == "" {
		return errors.Wrapf(ErrNoConfig, "cannot get ProviderConfig %q", key.Name)
	}
	return nil
}
