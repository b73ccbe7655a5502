package publishedresource

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// What a PublishedResource uses beside its workspace, it uses as owners of other controllers, so that each connection
// wakes it.
const (
	controllerSource   = "/source"   // of the service cluster
	controllerEndpoint = "/endpoint" // of an endpoint, whose URL follows the name
	controllerExport   = "/export"   // of the workspace of the APIExport, if the endpoint slice is in another one
)

// A connector connects PublishedResources to the workspaces of their APIExports, and keeps what they share.
type connector struct {
	controller string
	local      client.Client
	registry   *target.Registry
	publisher  *scope.Publisher
	events     event.Recorder

	writer   kcp.Writer
	memories *memories
	selects  func(client.Object) bool // reports whether a PublishedResource is this provider's

	stateNamespace string // where states are if a spec does not say

	publications *publication.Supervisor

	mu         sync.Mutex
	catalogues map[string]*catalogue // of service clusters, by their URLs
}

// Connect returns the client of a PublishedResource's APIExport.
func (c *connector) Connect(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (managed.TypedExternalClient[*v1alpha1.PublishedResource], error) {
	e, err := c.open(ctx, o)
	return e, passOf(ctx).fail(err)
}

func (c *connector) open(ctx context.Context, o *v1alpha1.PublishedResource) (*external, error) {
	if !meta.WasDeleted(o) {
		if err := c.publisher.Track(ctx, o); err != nil {
			return nil, errors.Wrap(errControlPlane, err.Error())
		}
	}
	p := passOf(ctx)
	e := &external{connector: c, name: o.GetName(), owner: c.owner(o.GetName(), ""), pass: p, memory: p.memory}
	var err error
	if e.connection, e.cluster, err = c.connect(ctx, e.owner, c.publisher.Ref(o)); err != nil {
		return nil, err
	}
	e.slices, p.cluster = e.cluster, e.cluster
	e.plan, err = planOf(&o.Spec, e.connection.Spec.KCP)
	e.keepAgent(o)
	return e, err
}

// keepAgent keeps the owner under which objects have been synced, and reports another one: all that has been made would
// be somebody else's.
func (e *external) keepAgent(o *v1alpha1.PublishedResource) {
	was := o.Status.AgentName
	if was == "" || e.plan.agent == "" || was == e.plan.agent {
		return
	}
	e.pass.report(v1alpha1.ReasonInvalidSpec, errors.Errorf(
		"agentName stays %q, under which objects have been synced: to use %q, make another PublishedResource",
		was, e.plan.agent))
	e.plan.agent = was
}

// connect returns the cluster of a ClusterProviderConfig, and what that says.
func (c *connector) connect(ctx context.Context, owner informer.Owner, config string,
) (commonv1.Connection, *target.Cluster, error) {
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
func (c *connector) service(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (*target.Cluster, informer.Owner, error) {
	owner := c.owner(o.GetName(), controllerSource)
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

// endpoint returns the virtual workspace of an endpoint, with all logical clusters.
func (e *external) endpoint(ctx context.Context, url string) (*target.Cluster, informer.Owner, error) {
	owner := e.endpointOwner(e.name, url)
	cluster, err := e.registry.ConnectTo(ctx, owner, e.connection, url+target.AllClusters)
	return cluster, owner, err
}

// keepEndpoints ends the connections to endpoints that are none any more.
func (e *external) keepEndpoints(urls []string) {
	for _, url := range e.memory.endpoints {
		if !slices.Contains(urls, url) {
			e.registry.Forget(e.endpointOwner(e.name, url))
		}
	}
	e.memory.endpoints = urls
}

// selected reports whether a PublishedResource is to be reconciled here. One that is not selected any more stays as it
// is, finalizers included: another provider takes it over. One that cannot be read is reconciled: the reconcile reports
// what is wrong, or finishes one that is gone.
func (c *connector) selected(ctx context.Context, n types.NamespacedName) bool {
	o := &v1alpha1.PublishedResource{}
	return c.local.Get(ctx, n, o) != nil || c.selects(o)
}

// AddFinalizer adds our finalizer.
func (c *connector) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return nil
	}
	return passOf(ctx).fail(managedadapter.PatchMetadata(ctx, c.local, obj,
		func(o client.Object) { meta.AddFinalizer(o, managed.FinalizerName) }))
}

// RemoveFinalizer removes our finalizer, and gives up all that is kept for the PublishedResource.
func (c *connector) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	if err := (managedadapter.Finalizer{Client: c.local}).RemoveFinalizer(ctx, obj); err != nil {
		return err
	}
	c.forget(client.ObjectKeyFromObject(obj))
	return nil
}

// forget gives up all that is kept for a PublishedResource.
func (c *connector) forget(n types.NamespacedName) {
	c.publications.Stop(n.Name)
	owners := []informer.Owner{
		c.owner(n.Name, ""), c.owner(n.Name, controllerSource), c.owner(n.Name, controllerExport),
	}
	if was := c.memories.forget(n.Name); was != nil {
		for _, url := range was.endpoints {
			owners = append(owners, c.endpointOwner(n.Name, url))
		}
	}
	for _, o := range owners {
		c.registry.Forget(o)
	}
}

func (c *connector) owner(name, suffix string) informer.Owner {
	return informer.Owner{Controller: c.controller + suffix, NamespacedName: types.NamespacedName{Name: name}}
}

// endpointOwner returns as whom a PublishedResource uses an endpoint. No name contains a space.
func (c *connector) endpointOwner(name, url string) informer.Owner {
	return c.owner(name+" "+url, controllerEndpoint)
}

// ofOwner returns the name of the PublishedResource of an owner.
func ofOwner(n types.NamespacedName) types.NamespacedName {
	name, _, _ := strings.Cut(n.Name, " ")
	return types.NamespacedName{Name: name}
}
