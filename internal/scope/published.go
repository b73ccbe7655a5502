package scope

import (
	"cmp"
	"context"
	"strings"
	"sync"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	served Configs
}

// DefaultPublisherConfig is the ProviderConfig of PublishedResources if neither they nor an option name one.
const DefaultPublisherConfig = "default"

// PublisherConfigs returns the kinds of ProviderConfig that PublishedResources may refer to: those without a namespace.
func PublisherConfigs() Configs { return Configs{ClusterScopeConfig(), NamespacedScopeConfigs()[1]} }

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
	return &Publisher{client: c, byDefault: PublisherConfig(byDefault)}
}

// Serve notes that the control plane serves a kind of PublisherConfigs. References to one that it does not serve name
// nothing.
func (p *Publisher) Serve(c Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = append(p.served, c)
}

// configs returns the kinds that the control plane serves.
func (p *Publisher) configs() Configs {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
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
	return PublisherConfigs().key("", reference(ref))
}

func reference(r publishedv1alpha1.ConfigReference) xpv2.ProviderConfigReference {
	return xpv2.ProviderConfigReference{Kind: withKind(r).Kind, Name: r.Name}
}

// Config returns what the ProviderConfig of a reference says. The cause of its error is ErrNoConfig if there is none.
func (p *Publisher) Config(ctx context.Context, ref publishedv1alpha1.ConfigReference) (commonv1.Connection, error) {
	served := p.configs()
	if _, ok := served.find(withKind(ref).Kind); !ok {
		return commonv1.Connection{}, errors.Wrapf(ErrNoConfig, "kind %s is not installed", withKind(ref).Kind)
	}
	return served.connection(ctx, p.client, "", reference(ref))
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
	for _, c := range p.configs() {
		u := usageOf(c, mg, publishedv1alpha1.PublishedResourceGroupVersionKind, ref.Name)
		u.SetName(u.GetName() + suffix)
		act := untrack
		if ref.Kind == c.Kinds.Config.Kind {
			act = track
		}
		if err := act(ctx, p.client, u); err != nil {
			return err
		}
	}
	return nil
}

// untrack removes a record of use, if it is that of the same user.
func untrack(ctx context.Context, c client.Client, usage client.Object) error {
	user := metav1.GetControllerOf(usage).UID
	err := c.Get(ctx, client.ObjectKeyFromObject(usage), usage)
	if owner := metav1.GetControllerOf(usage); err == nil && owner != nil && owner.UID == user {
		err = c.Delete(ctx, usage)
	}
	return errors.Wrap(client.IgnoreNotFound(err), "cannot remove the record of use of a ProviderConfig")
}
