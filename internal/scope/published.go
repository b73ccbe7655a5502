package scope

import (
	"cmp"
	"context"
	"strings"
	"sync"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// A Publisher is how PublishedResources use ProviderConfigs. They have one scope, and may use two ProviderConfigs. Its
// methods may be called concurrently.
type Publisher struct {
	client client.Client
	// byDefault is the ProviderConfig of those that name none.
	byDefault publishedv1alpha1.ConfigReference

	mu     sync.Mutex
	served map[string]Config // by kind
}

// DefaultPublisherConfig is the ProviderConfig of PublishedResources if neither they nor an option name one.
const DefaultPublisherConfig = "default"

// PublisherConfigs returns the kinds of ProviderConfig that PublishedResources may refer to: those without a namespace.
func PublisherConfigs() []Config { return []Config{ClusterScopeConfig(), NamespacedScopeConfigs()[1]} }

// PublisherConfig returns the ProviderConfig that an option names, as NAME or ClusterProviderConfig/NAME. An empty one
// names DefaultPublisherConfig.
func PublisherConfig(option string) publishedv1alpha1.ConfigReference {
	shared := mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind
	if name, ok := strings.CutPrefix(option, shared+"/"); ok {
		return publishedv1alpha1.ConfigReference{Kind: shared, Name: name}
	}
	return withKind(publishedv1alpha1.ConfigReference{Name: cmp.Or(option, DefaultPublisherConfig)})
}

// withKind sets the default kind, which a reference has that an API server has seen.
func withKind(r publishedv1alpha1.ConfigReference) publishedv1alpha1.ConfigReference {
	r.Kind = cmp.Or(r.Kind, pcv1alpha1.ProviderConfigGroupVersionKind.Kind)
	return r
}

// PublishedResources returns how PublishedResources use ProviderConfigs. Those that name none use the one of an option.
func PublishedResources(c client.Client, byDefault string) *Publisher {
	return &Publisher{client: c, byDefault: PublisherConfig(byDefault), served: map[string]Config{}}
}

// Serve notes that the control plane serves a kind of PublisherConfigs. References to one that it does not serve name
// nothing.
func (p *Publisher) Serve(c Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served[c.Kinds.Config.Kind] = c
}

func (p *Publisher) isServed(kind string) (Config, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.served[kind]
	return c, ok
}

// Ref returns the ProviderConfig of a PublishedResource. The API server must not fill it in: clients of api-syncagent
// drop fields that they do not know, and what was stored by a former default would outweigh that of this provider.
func (p *Publisher) Ref(mg *publishedv1alpha1.PublishedResource) publishedv1alpha1.ConfigReference {
	if r := mg.Spec.ProviderConfigReference; r != nil {
		return withKind(*r)
	}
	return p.byDefault
}

// Key returns the name of the ProviderConfig of a reference, as Config.Key makes it.
func (*Publisher) Key(ref publishedv1alpha1.ConfigReference) string {
	if ref.Kind == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind {
		return configKey(mpcv1alpha1.ClusterProviderConfigGroupVersionKind, "", ref.Name)
	}
	return configKey(pcv1alpha1.ProviderConfigGroupVersionKind, "", ref.Name)
}

// Config returns what the ProviderConfig of a reference says. The cause of its error is ErrNoConfig if there is none.
func (p *Publisher) Config(ctx context.Context, ref publishedv1alpha1.ConfigReference) (commonv1.Connection, error) {
	c, ok := p.isServed(withKind(ref).Kind)
	if !ok {
		return commonv1.Connection{}, errors.Wrapf(ErrNoConfig, "kind %s is not installed", withKind(ref).Kind)
	}
	pc := c.New()
	err := get(ctx, p.client, types.NamespacedName{Name: ref.Name}, pc)
	spec, _ := c.Parts(pc)
	return commonv1.Connection{Spec: spec}, err
}

// serviceUse is appended to the name of the record of use of a service cluster's ProviderConfig.
const serviceUse = "-service-cluster"

// Track records that a PublishedResource uses its ProviderConfigs.
func (p *Publisher) Track(ctx context.Context, mg *publishedv1alpha1.PublishedResource) error {
	if err := p.track(ctx, mg, p.Ref(mg), ""); err != nil {
		return err
	}
	service := publishedv1alpha1.ConfigReference{}
	if r := mg.Spec.ServiceClusterConfigReference; r != nil {
		service = withKind(*r)
	}
	return p.track(ctx, mg, service, serviceUse)
}

// track records the use of the ProviderConfig of a reference, empty for none, and removes the record of one of another
// kind.
func (p *Publisher) track(ctx context.Context, mg *publishedv1alpha1.PublishedResource,
	ref publishedv1alpha1.ConfigReference, suffix string,
) error {
	for _, c := range PublisherConfigs() {
		kind, u := c.Kinds.Config.Kind, c.NewUsage()
		if _, ok := p.isServed(kind); !ok {
			continue
		}
		describeUse(u, mg, ref.Name)
		u.SetName(u.GetName() + suffix)
		var err error
		if ref.Kind != kind {
			err = p.untrack(ctx, mg, u)
		} else {
			err = trackUse(ctx, p.client, u, func(current runtime.Object) bool {
				was, ok := current.(client.Object)
				return ok && was.GetLabels()[xpv2.LabelKeyProviderName] != ref.Name
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// describeUse fills in a record of use. Those of a ClusterProviderConfig live in namespaces, of which a
// PublishedResource has none: default is in every cluster.
func describeUse(u client.Object, mg *publishedv1alpha1.PublishedResource, name string) {
	described := describe(u, mg, publishedv1alpha1.PublishedResourceGroupVersionKind)
	u.SetLabels(map[string]string{xpv2.LabelKeyProviderName: name})
	switch u := u.(type) {
	case *pcv1alpha1.ProviderConfigUsage:
		u.ResourceReference, u.ProviderConfigReference = described, xpv2.Reference{Name: name}
	case *mpcv1alpha1.ProviderConfigUsage:
		kind := mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind
		u.SetNamespace(metav1.NamespaceDefault)
		u.Labels[xpv2.LabelKeyProviderKind] = kind
		u.ResourceReference, u.ProviderConfigReference = described, xpv2.ProviderConfigReference{Kind: kind, Name: name}
	}
}

// untrack removes a record of use, if there is one.
func (p *Publisher) untrack(ctx context.Context, mg *publishedv1alpha1.PublishedResource, u client.Object) error {
	err := p.client.Get(ctx, client.ObjectKeyFromObject(u), u)
	if err == nil && metav1.IsControlledBy(u, mg) {
		err = p.client.Delete(ctx, u)
	}
	return errors.Wrap(client.IgnoreNotFound(err), "cannot remove the record of use of a ProviderConfig")
}
