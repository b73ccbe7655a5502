package publishedresource

import (
	"context"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
)

// A connector connects PublishedResources to the workspaces of their APIExports, and keeps what outlives a pass.
type connector struct {
	local        client.Client
	events       event.Recorder
	connections  *connections
	memories     *memories
	publications *publication.Supervisor
	phases       phases
}

// Connect returns the client of a PublishedResource's APIExport.
func (c *connector) Connect(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (managed.TypedExternalClient[*v1alpha1.PublishedResource], error) {
	p := passOf(ctx)
	return &external{phases: c.phases, pass: p}, p.fail(c.open(ctx, p, o))
}

// open connects a pass to the workspace of an APIExport.
func (c *connector) open(ctx context.Context, p *pass, o *v1alpha1.PublishedResource) error {
	p.resource, p.events = o, c.events
	if !meta.WasDeleted(o) {
		if err := c.connections.publisher.Track(ctx, o); err != nil {
			return errors.Wrap(errControlPlane, err.Error())
		}
	}
	owner := c.connections.owner(o.GetName(), "")
	connection, cluster, err := c.connections.connect(ctx, owner, c.connections.publisher.Ref(o))
	if err != nil {
		return err
	}
	plan, err := planOf(&o.Spec, connection.Spec.KCP)
	p.workspace = &workspace{
		connections: c.connections, name: o.GetName(), owner: owner, connection: connection, cluster: cluster,
		slices: cluster, plan: plan,
	}
	p.keepAgent()
	return err
}

// keepAgent keeps the owner under which objects have been synced, and reports another one: all that has been made would
// be somebody else's.
func (p *pass) keepAgent() {
	was, plan := p.resource.Status.AgentName, &p.workspace.plan
	if was == "" || plan.agent == "" || was == plan.agent {
		return
	}
	p.report(v1alpha1.ReasonInvalidSpec, errors.Errorf(
		"agentName stays %q, under which objects have been synced: to use %q, make another PublishedResource",
		was, plan.agent))
	plan.agent = was
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
	c.forget(obj.GetName())
	return nil
}

// forget gives up all that is kept for a PublishedResource.
func (c *connector) forget(name string) {
	c.publications.Stop(name)
	var endpoints []string
	if was := c.memories.forget(name); was != nil {
		endpoints = was.endpoints
	}
	c.connections.forget(name, endpoints)
}

// restored records on each PublishedResource of a restored server that it has been: a workspace, an endpoint or a
// service cluster.
func (c *connector) restored(r clusters.Restored) {
	names := map[string]bool{} // whether the server is of kcp to each of them
	for _, o := range r.Owners {
		if name := ofOwner(o.NamespacedName).Name; o.Controller == c.connections.controller {
			names[name] = names[name] || o.Name != name+useSource
		}
	}
	for name, inKCP := range names {
		c.publications.Restored(name, inKCP) // Before anybody is told of a change.
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o := &v1alpha1.PublishedResource{}
		if c.local.Get(context.Background(), types.NamespacedName{Name: name}, o) == nil {
			c.events.Event(o, event.Warning(commonv1.ReasonTargetRestored, errors.Errorf(
				"resourceVersion of server %s decreased (restored from a backup?): "+
					"all objects there are compared again", r.Server)))
		}
	}
}
