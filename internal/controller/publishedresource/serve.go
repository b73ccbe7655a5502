package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// defaultStateNamespace is where states are if the spec does not say, which is only so without the defaults of the API.
const defaultStateNamespace = "crossplane-system"

// serve has the objects of consumers synced, and records in the status how far that is.
func (e *external) serve(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if !o.Spec.SyncEnabled() {
		e.publications.Stop(e.name)
		o.Status.Objects = nil
		return nil
	}
	if e.seen != nil && !e.seen.early && len(e.seen.endpoints) == 0 {
		// What the last consumers have left behind is still told of. Without an endpoint nobody says that they are gone.
		e.publications.Follow(e.name, publication.Consumers{})
		e.describeObjects(o)
		return nil
	}
	if e.seen == nil || e.seen.early || e.wanted == nil || !e.state.offers(e.wanted.resource) {
		return nil // It stays as it is.
	}
	c, err := e.publication(ctx, o)
	if err != nil {
		return err
	}
	err = e.publications.Serve(e.name, c)
	e.describeObjects(o)
	if errors.Is(err, objectsync.ErrInvalidSpec) {
		return errors.Wrap(errInvalidSpec, err.Error())
	}
	return err
}

// serveLast has the objects of consumers synced of an API that is being withdrawn: they cannot go otherwise.
func (e *external) serveLast(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if o.GetDeletionPolicy() != xpv2.DeletionDelete {
		e.publications.Stop(e.name)
		return nil
	}
	var err error
	if e.wanted, err = e.want(ctx, o); err != nil {
		return nil //nolint:nilerr // Without a source there is nothing to sync to. What is to be withdrawn does not depend on it.
	}
	if err := e.observeConsumers(ctx, o); err != nil {
		return err
	}
	return e.serve(ctx, o)
}

// publication returns what is to be served.
func (e *external) publication(ctx context.Context, o *v1alpha1.PublishedResource) (publication.Config, error) {
	c := publication.Config{
		Consumers: publication.Consumers{Workspaces: map[string]string{}, Complete: e.seen.complete()},
		Sync: objectsync.Config{
			Spec: o.Spec.DeepCopy(), Agent: e.plan.agent, StateNamespace: cmp.Or(o.Spec.StateNamespace, defaultStateNamespace), Primary: e.wanted.pair,
		},
	}
	var err error
	if c.Service, _, err = e.service(ctx, o); err != nil {
		return c, err
	}
	for _, url := range e.seen.endpoints {
		cluster, _, err := e.endpoint(ctx, e, url)
		if cluster == nil {
			return c, err
		}
		c.Endpoints = append(c.Endpoints, publication.Endpoint{URL: url, Cluster: cluster})
	}
	for _, consumer := range e.consumers {
		if consumer.Bound {
			c.Workspaces[consumer.Cluster] = consumer.Path
		}
	}
	if c.Sync.Related, err = e.relatedAPIs(o, c); err != nil {
		return c, err
	}
	s := c.Sync
	c.Schemas = schemasOf(e.seen, s)
	c.Revision = fmt.Sprint(o.GetUID(), o.GetGeneration(), s.Agent, s.StateNamespace, s.Primary, s.Related)
	return c, nil
}

// schemasOf returns the names of the schemas by which consumers know the APIs that are synced, sorted.
func schemasOf(v *view, c objectsync.Config) []string {
	synced := map[schema.GroupResource]bool{c.Primary.Workspace.GroupResource(): true}
	for _, pair := range c.Related {
		synced[pair.Workspace.GroupResource()] = true
	}
	var names []string
	for name := range kcp.SchemasBound(v.bindings) {
		if r, ok := kcp.ResourceOf(name); ok && synced[r] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// describeObjects records in the status what has become of the objects of consumers, and an event for each workspace that has left copies
// behind. What is not known stays as it was.
func (e *external) describeObjects(o *v1alpha1.PublishedResource) {
	now, known := e.publications.Status(e.name), map[string]int64{}
	if now == nil {
		return
	}
	if o.Status.Objects != nil {
		for _, w := range o.Status.Objects.Orphans {
			known[w.Workspace] = w.Copies
		}
	}
	for _, w := range now.Orphans {
		if w.Copies > known[w.Workspace] {
			e.events.Event(o, event.Normal(reasonOrphaned, fmt.Sprintf("Workspace %s no longer binds the API and has left %d copies behind", w.Workspace, w.Copies)))
		}
	}
	o.Status.Objects = now
}

// relatedAPIs returns the APIs of related resources on both sides, by their identifiers.
func (e *external) relatedAPIs(o *v1alpha1.PublishedResource, c publication.Config) (map[string]objectsync.Pair, error) {
	out := map[string]objectsync.Pair{}
	for i := range o.Spec.Related {
		r := &o.Spec.Related[i]
		gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
		if r.Kind != "" {
			gvr = schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(r.Kind) + "s"}
		}
		in := relatedInKCP(r).WithVersion(gvr.Version)
		if r.Projection != nil {
			in.Version = cmp.Or(r.Projection.Version, in.Version)
		}
		var pair objectsync.Pair
		var err error
		if pair.Service, err = e.apis.find(c.Service, gvr); err != nil {
			return nil, errors.Wrapf(err, "cannot sync related resource %q", r.Name())
		}
		if pair.Workspace, err = e.apis.find(c.Endpoints[0].Cluster, in); err != nil {
			return nil, errors.Wrapf(err, "cannot sync related resource %q", r.Name())
		}
		out[r.Name()] = pair
	}
	return out, nil
}

// pairOf returns a published API on both sides, each in the version that is stored.
func pairOf(source *apiextensionsv1.CustomResourceDefinition, p *projection.Projection) objectsync.Pair {
	return objectsync.Pair{Workspace: stored(p.CRD), Service: stored(source)}
}

func stored(d *apiextensionsv1.CustomResourceDefinition) objectsync.Resource {
	out := objectsync.Resource{Kind: d.Spec.Names.Kind, Scope: v1alpha1.ResourceScope(d.Spec.Scope)}
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		return out
	}
	v := d.Spec.Versions[i]
	out.GroupVersionResource = schema.GroupVersionResource{Group: d.Spec.Group, Version: v.Name, Resource: d.Spec.Names.Plural}
	out.Status = v.Subresources != nil && v.Subresources.Status != nil
	return out
}

// apis remembers what servers serve.
type apis struct {
	mu    sync.Mutex
	known map[apiAt]objectsync.Resource
}

type apiAt struct {
	server   string
	resource schema.GroupVersionResource
}

func newAPIs() *apis { return &apis{known: map[apiAt]objectsync.Resource{}} }

// find returns an API of a server. What has been found once is not asked for again.
func (a *apis) find(c *target.Cluster, r schema.GroupVersionResource) (objectsync.Resource, error) {
	at := apiAt{c.Server(), r}
	a.mu.Lock()
	known, ok := a.known[at]
	a.mu.Unlock()
	if ok {
		return known, nil
	}
	list, err := c.Discovery().ServerResourcesForGroupVersion(r.GroupVersion().String())
	if err != nil {
		return known, errors.Wrapf(err, "cannot discover %s", r.GroupVersion())
	}
	for _, is := range list.APIResources {
		switch is.Name {
		case r.Resource:
			ok = true
			known.GroupVersionResource, known.Kind, known.Scope = r, is.Kind, v1alpha1.ScopeCluster
			if is.Namespaced {
				known.Scope = v1alpha1.ScopeNamespaced
			}
		case r.Resource + "/status":
			known.Status = true
		}
	}
	if !ok {
		return known, errors.Errorf("%s does not serve %s", kindOfServer(c), r)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[at] = known
	return known, nil
}

// kindOfServer returns what a cluster is to those who read errors.
func kindOfServer(c *target.Cluster) string {
	if strings.HasSuffix(c.Server(), target.AllClusters) {
		return "the endpoint of the APIExport"
	}
	return "the service cluster"
}
