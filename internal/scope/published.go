package scope

import (
	"cmp"
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A Publisher is how PublishedResources use ProviderConfigs. They have one scope, and may use two ProviderConfigs.
type Publisher struct {
	client client.Client
	// byDefault is the name of the ProviderConfig of those that name none.
	byDefault string
	// Configs are the kinds of ProviderConfig they may reference.
	Configs []Config
}

// DefaultPublisherConfig is the ProviderConfig of PublishedResources if neither they nor an option name one.
const DefaultPublisherConfig = "default"

// PublishedResources returns how PublishedResources use ProviderConfigs. Those that name none use the one of a name,
// DefaultPublisherConfig if it is empty.
func PublishedResources(c client.Client, byDefault string) Publisher {
	return Publisher{
		client: c, byDefault: cmp.Or(byDefault, DefaultPublisherConfig), Configs: []Config{ClusterScopeConfig()},
	}
}

// Ref returns the ProviderConfig of a PublishedResource. The API server must not fill it in: clients of api-syncagent
// drop fields that they do not know, and what was stored by a former default would outweigh that of this provider.
func (p Publisher) Ref(mg *publishedv1alpha1.PublishedResource) xpv2.Reference {
	if r := mg.Spec.ProviderConfigReference; r != nil {
		return *r
	}
	return xpv2.Reference{Name: p.byDefault}
}

// Key returns the name of the ProviderConfig of a reference, as Config.Key makes it.
func (Publisher) Key(ref xpv2.Reference) string {
	return configKey(pcv1alpha1.ProviderConfigGroupVersionKind, "", ref.Name)
}

// Config returns what the ProviderConfig of a reference says. The cause of its error is ErrNoConfig if there is none.
func (p Publisher) Config(ctx context.Context, ref xpv2.Reference) (commonv1.Connection, error) {
	pc := &pcv1alpha1.ProviderConfig{}
	err := get(ctx, p.client, types.NamespacedName{Name: ref.Name}, pc)
	return commonv1.Connection{Spec: &pc.Spec}, err
}

// serviceUse is appended to the name of the record of use of a service cluster's ProviderConfig.
const serviceUse = "-service-cluster"

// Track records that a PublishedResource uses its ProviderConfigs.
func (p Publisher) Track(ctx context.Context, mg *publishedv1alpha1.PublishedResource) error {
	if err := p.record(ctx, mg, p.Ref(mg), ""); err != nil {
		return err
	}
	if r := mg.Spec.ServiceClusterConfigReference; r != nil {
		return p.record(ctx, mg, *r, serviceUse)
	}
	return p.unrecord(ctx, mg)
}

func (p Publisher) record(ctx context.Context, mg *publishedv1alpha1.PublishedResource, ref xpv2.Reference,
	suffix string,
) error {
	u := &pcv1alpha1.ProviderConfigUsage{}
	u.SetLabels(map[string]string{xpv2.LabelKeyProviderName: ref.Name})
	u.ProviderConfigReference = ref
	u.ResourceReference = describe(u, mg, publishedv1alpha1.PublishedResourceGroupVersionKind)
	u.SetName(u.GetName() + suffix)
	return trackUse(ctx, p.client, u, func(current runtime.Object) bool {
		was, ok := current.(*pcv1alpha1.ProviderConfigUsage)
		return ok && was.ProviderConfigReference.Name != ref.Name
	})
}

// unrecord removes the record of use of a service cluster's ProviderConfig, if there is one.
func (p Publisher) unrecord(ctx context.Context, mg *publishedv1alpha1.PublishedResource) error {
	u := &pcv1alpha1.ProviderConfigUsage{}
	err := p.client.Get(ctx, types.NamespacedName{Name: string(mg.GetUID()) + serviceUse}, u)
	if err == nil && metav1.IsControlledBy(u, mg) {
		err = p.client.Delete(ctx, u)
	}
	return errors.Wrap(client.IgnoreNotFound(err),
		"cannot remove the record of use of the service cluster's ProviderConfig")
}
