package publishedresource

import (
	"context"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// What a PublishedResource uses beside its workspace, it uses as owners of other names, so that each connection wakes
// it: its own with what the connection is for. No name contains a space.
const (
	useSource   = " source" // of the service cluster
	useExport   = " export" // of the workspace of the APIExport, if the endpoint slice is in another one
	useEndpoint = " "       // of an endpoint, whose URL follows
)

// Connections are how PublishedResources reach workspaces, endpoints and service clusters.
type connections struct {
	controller string
	registry   *clusters.Registry
	publisher  *scope.Publisher
}

// connect returns the cluster of a ClusterProviderConfig, and what that says.
func (c *connections) connect(ctx context.Context, owner informer.Owner, config string,
) (commonv1.Connection, *clusters.Cluster, error) {
	c.registry.Bind(owner, c.publisher.Key(config))
	connection, err := c.publisher.Config(ctx, config)
	if errors.Is(err, scope.ErrNoConfig) {
		c.registry.Release(owner)
	}
	if err != nil {
		return connection, nil, errors.Wrap(err, "cannot use ClusterProviderConfig")
	}
	cluster, err := c.registry.Connect(ctx, owner, connection)
	return connection, cluster, errors.Wrapf(err, "cannot connect through ClusterProviderConfig %q", config)
}

// service returns the service cluster of a PublishedResource.
func (c *connections) service(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (*clusters.Cluster, informer.Owner, error) {
	owner := c.owner(o.GetName(), useSource)
	ref := o.Spec.ServiceClusterConfigReference
	if ref == nil {
		c.registry.Release(owner)
		return c.registry.Local(), owner, nil
	}
	c.registry.Local().Watches().Track(owner, purposeSource)
	c.registry.Local().Watches().Track(owner, purposeRelated)
	_, cluster, err := c.connect(ctx, owner, ref.Name)
	return cluster, owner, errors.Wrap(err, "cannot use service cluster")
}

// forget ends all connections of a PublishedResource.
func (c *connections) forget(name string, endpoints []string) {
	for _, use := range []string{"", useSource, useExport} {
		c.registry.Forget(c.owner(name, use))
	}
	for _, url := range endpoints {
		c.registry.Forget(c.owner(name, useEndpoint+url))
	}
}

func (c *connections) owner(name, use string) informer.Owner {
	return informer.Owner{Controller: c.controller, NamespacedName: types.NamespacedName{Name: name + use}}
}

// ofOwner returns the name of the PublishedResource of an owner.
func ofOwner(n types.NamespacedName) types.NamespacedName {
	name, _, _ := strings.Cut(n.Name, " ")
	return types.NamespacedName{Name: name}
}
