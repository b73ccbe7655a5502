package scope

import (
	"cmp"
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

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
	if service.Name == "" {
		return untrack(ctx, p.client, u)
	}
	return track(ctx, p.client, u)
}

// untrack removes a record of use, if it is that of the same user.
func untrack(ctx context.Context, c client.Client, usage client.Object) error {
	user := metav1.GetControllerOf(usage).UID
	err := c.Get(ctx, client.ObjectKeyFromObject(usage), usage)
	if owner := metav1.GetControllerOf(usage); err == nil && owner != nil && owner.UID == user {
		err = c.Delete(ctx, usage)
	}
	return errors.Wrap(client.IgnoreNotFound(err), "cannot delete the ProviderConfigUsage")
}
