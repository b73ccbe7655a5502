package scope

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// ErrNoConfig means that a resource's providerConfigRef names nothing that exists.
var ErrNoConfig = errors.New("it does not exist: create it, or name another one in providerConfigRef")

// A noConfigError says that a ProviderConfig does not exist, and what to do about it. It is ErrNoConfig.
type noConfigError string

func (e noConfigError) Error() string { return string(e) }

// Is reports whether the target is ErrNoConfig.
func (noConfigError) Is(target error) bool { return target == ErrNoConfig }

// Configs are the kinds of ProviderConfig that a reference may name. The first is that of references without a kind.
type Configs []Config

// find returns the ProviderConfig of a kind, and whether there is one.
func (s Configs) find(kind string) (Config, bool) {
	i := slices.IndexFunc(s, func(c Config) bool { return c.Kinds.Config.Kind == kind })
	if i < 0 {
		return Config{}, false
	}
	return s[i], true
}

// ConfigRef returns the providerConfigRef of a resource as it is, nil if it has none.
func ConfigRef(o client.Object) any {
	switch u := o.(type) {
	case interface{ GetProviderConfigReference() *xpv2.Reference }:
		if r := u.GetProviderConfigReference(); r != nil {
			return r
		}
	case interface {
		GetProviderConfigReference() *xpv2.ProviderConfigReference
	}:
		if r := u.GetProviderConfigReference(); r != nil {
			return r
		}
	}
	return nil
}

// RefOf returns the kind and the name in the providerConfigRef of a resource, empty if it has none. A reference without
// a kind is one to a ProviderConfig.
func RefOf(o client.Object) xpv2.ProviderConfigReference {
	switch r := ConfigRef(o).(type) {
	case *xpv2.Reference:
		return xpv2.ProviderConfigReference{Kind: pcv1alpha1.ProviderConfigGroupVersionKind.Kind, Name: r.Name}
	case *xpv2.ProviderConfigReference:
		return *r
	}
	return xpv2.ProviderConfigReference{}
}

// key returns the key of the ProviderConfig that a reference from a namespace names, whether it exists or not.
func (s Configs) key(namespace string, ref xpv2.ProviderConfigReference) string {
	if ref == (xpv2.ProviderConfigReference{}) {
		return ""
	}
	c, ok := s.find(ref.Kind)
	if !ok {
		return configKey(schema.GroupKind{Group: s[0].Kinds.Config.Group, Kind: ref.Kind}, namespace, ref.Name)
	}
	return configKey(c.Kinds.Config.GroupKind(), c.in(namespace, ref.Name).Namespace, ref.Name)
}

// get returns the ProviderConfig that a reference from a namespace names, and its kind.
func (s Configs) get(ctx context.Context, c client.Client, namespace string,
	ref xpv2.ProviderConfigReference,
) (resource.ProviderConfig, Config, error) {
	config, ok := s.find(ref.Kind)
	switch {
	case ref == (xpv2.ProviderConfigReference{}):
		return nil, config, noConfigError("spec.providerConfigRef is not set: name a ProviderConfig in it")
	case !ok:
		return nil, config, noConfigError(fmt.Sprintf("kind %q of spec.providerConfigRef is neither "+
			"ProviderConfig nor ClusterProviderConfig", ref.Kind))
	}
	pc := config.New()
	err := client.IgnoreNotFound(c.Get(ctx, config.in(namespace, ref.Name), pc))
	if err == nil && pc.GetUID() == "" {
		err = ErrNoConfig
	}
	return pc, config, errors.Wrapf(err, "cannot get %s %q", config.Kinds.Config.Kind, ref.Name)
}

// connection returns what the ProviderConfig says that a reference from a namespace names.
func (s Configs) connection(ctx context.Context, c client.Client, namespace string,
	ref xpv2.ProviderConfigReference,
) (commonv1.Connection, error) {
	pc, config, err := s.get(ctx, c, namespace, ref)
	if errors.Is(err, ErrNoConfig) && config.Namespaced {
		for _, other := range s {
			shared := xpv2.ProviderConfigReference{Kind: other.Kinds.Config.Kind, Name: ref.Name}
			if _, _, oerr := s.get(ctx, c, namespace, shared); !other.Namespaced && oerr == nil {
				err = noConfigError(fmt.Sprintf("%s %q does not exist in namespace %q, but a %s of that name does: "+
					"set kind: %s in spec.providerConfigRef", ref.Kind, ref.Name, namespace, shared.Kind, shared.Kind))
			}
		}
	}
	if err != nil {
		return commonv1.Connection{}, err
	}
	return config.Connection(pc), nil
}

// usageOf returns the record that a resource of a kind uses the ProviderConfig of a name, as crossplane-runtime makes
// it for managed resources. It goes with its user, as its controller. Records of a namespaced kind are in the namespace
// of their user, or in that called default if it has none.
func usageOf(c Config, user client.Object, gvk schema.GroupVersionKind, name string) client.Object {
	u := c.NewUsage()
	ref := meta.TypedReferenceTo(user, gvk)
	used := xpv2.TypedReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}
	labels := map[string]string{xpv2.LabelKeyProviderName: name}
	switch u := u.(type) {
	case *pcv1alpha1.ProviderConfigUsage:
		u.ResourceReference, u.ProviderConfigReference = used, xpv2.Reference{Name: name}
	case *mpcv1alpha1.ProviderConfigUsage:
		kind := c.Kinds.Config.Kind
		labels[xpv2.LabelKeyProviderKind] = kind
		u.ResourceReference, u.ProviderConfigReference = used, xpv2.ProviderConfigReference{Kind: kind, Name: name}
		u.SetNamespace(metav1.NamespaceDefault)
	}
	if user.GetNamespace() != "" {
		u.SetNamespace(user.GetNamespace())
	}
	u.SetName(string(user.GetUID()))
	u.SetLabels(labels)
	u.SetOwnerReferences([]metav1.OwnerReference{meta.AsController(ref)})
	return u
}

// track writes a record of use, unless it is there and names the same ProviderConfig. That it exists is no error: the
// cache of records may be a moment behind our own creation of it.
// See https://github.com/crossplane-contrib/provider-upjet-gcp/issues/1002.
func track(ctx context.Context, c client.Client, usage client.Object) error {
	names := func(o client.Object, key string) bool { return o.GetLabels()[key] == usage.GetLabels()[key] }
	err := resource.NewAPIUpdatingApplicator(c).Apply(ctx, usage,
		resource.MustBeControllableBy(metav1.GetControllerOf(usage).UID),
		resource.AllowUpdateIf(func(current, _ runtime.Object) bool {
			was, ok := current.(client.Object)
			return ok && (!names(was, xpv2.LabelKeyProviderName) || !names(was, xpv2.LabelKeyProviderKind))
		}))
	if resource.IsNotAllowed(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if s := (&apierrors.StatusError{}); errors.As(err, &s) &&
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		s.ErrStatus.Reason = metav1.StatusReasonConflict // The user is about to be deleted: nobody needs to hear of it.
	}
	return errors.Wrap(err, "cannot write the ProviderConfigUsage")
}

// A Publisher is how PublishedResources use ClusterProviderConfigs. They may use two. Its methods may be called
// concurrently.
type Publisher struct {
	client client.Client
	// byDefault is the ClusterProviderConfig of those that name none.
	byDefault string
}

// DefaultPublisherConfig is the ClusterProviderConfig of PublishedResources if neither they nor an option name one.
const DefaultPublisherConfig = "default"

// PublisherConfig returns the kind of ProviderConfig that PublishedResources refer to.
func PublisherConfig() Config { return NamespacedScopeConfigs()[1] }

// PublishedResources returns how PublishedResources use ClusterProviderConfigs. Those that name none use the one of an
// option, DefaultPublisherConfig if it is empty.
func PublishedResources(c client.Client, byDefault string) *Publisher {
	return &Publisher{client: c, byDefault: cmp.Or(byDefault, DefaultPublisherConfig)}
}

// Ref returns the name of the ClusterProviderConfig of a PublishedResource. The API server must not fill it in: clients
// of api-syncagent drop fields that they do not know, and what was stored by a former default would outweigh that of
// this provider.
func (p *Publisher) Ref(mg *publishedv1alpha1.PublishedResource) string {
	if r := mg.Spec.ProviderConfigReference; r != nil {
		return r.Name
	}
	return p.byDefault
}

// Key returns the key of a ClusterProviderConfig, as Config.Key makes it.
func (*Publisher) Key(name string) string {
	return configKey(PublisherConfig().Kinds.Config.GroupKind(), "", name)
}

// Config returns what a ClusterProviderConfig says. The cause of its error is ErrNoConfig if there is none.
func (p *Publisher) Config(ctx context.Context, name string) (commonv1.Connection, error) {
	c := PublisherConfig()
	ref := xpv2.ProviderConfigReference{Kind: c.Kinds.Config.Kind, Name: name}
	return Configs{c}.connection(ctx, p.client, "", ref)
}

// serviceUse is appended to the name of the record of use of a service cluster's ClusterProviderConfig.
const serviceUse = "-service-cluster"

// Track records that a PublishedResource uses its ClusterProviderConfigs, and removes the record of a service cluster
// that it names no longer.
func (p *Publisher) Track(ctx context.Context, mg *publishedv1alpha1.PublishedResource) error {
	usage := func(name string) client.Object {
		return usageOf(PublisherConfig(), mg, publishedv1alpha1.PublishedResourceGroupVersionKind, name)
	}
	if err := track(ctx, p.client, usage(p.Ref(mg))); err != nil {
		return err
	}
	service := publishedv1alpha1.ConfigReference{}
	if r := mg.Spec.ServiceClusterConfigReference; r != nil {
		service = *r
	}
	u := usage(service.Name)
	u.SetName(u.GetName() + serviceUse)
	if service.Name != "" {
		return track(ctx, p.client, u)
	}
	err := p.client.Get(ctx, client.ObjectKeyFromObject(u), u)
	if err == nil && metav1.IsControlledBy(u, mg) {
		err = p.client.Delete(ctx, u)
	}
	return errors.Wrap(client.IgnoreNotFound(err), "cannot delete the ProviderConfigUsage")
}
