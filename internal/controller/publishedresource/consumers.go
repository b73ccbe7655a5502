package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
)

// Consumers look at who uses APIs, through the endpoints of APIExports, and have their objects synced.
type consumers struct {
	connections    *connections
	publications   *publication.Supervisor
	stateNamespace string // where states are if a spec does not say
}

// A consumerView is what the endpoints of an APIExport show of its consumers.
type consumerView struct {
	endpoints []endpoint
	bindings  []*unstructured.Unstructured // shared with the watch
	homes     map[string]string            // the URLs of the endpoints of logical clusters
	all       []kcp.Consumer               // none if it is early
	consumers []kcp.Consumer               // those whose bindings are not all being deleted
	early     bool                         // some of it is not known yet
	untold    bool                         // no APIExportEndpointSlice tells of endpoints
}

// An endpoint is a virtual workspace of an APIExport, with all logical clusters of a shard.
type endpoint struct {
	publication.Endpoint

	owner informer.Owner // as whom the PublishedResource uses it
	err   error          // why it does not show all
}

// failing returns the endpoints that do not show all.
func (v *consumerView) failing() []endpoint {
	return slices.DeleteFunc(slices.Clone(v.endpoints), func(e endpoint) bool { return e.err == nil })
}

// complete reports whether all bindings are in view.
func (v *consumerView) complete() bool { return !v.early && !v.untold && len(v.failing()) == 0 }

// check notes why an endpoint does not show all, if it does not. Conflicts mean that it is too early to tell.
func (v *consumerView) check(e *endpoint, err error) {
	if apierrors.IsConflict(err) {
		v.early = true
		return
	}
	e.err = err
}

// observe looks at who uses the API. Whatever else is wrong, what is served is for who binds it by now.
func (c *consumers) observe(ctx context.Context, p *pass) error {
	v := c.view(ctx, p)
	r, offered := p.published()
	if offered && p.wanted != nil {
		v.checkServed(ctx, p)
	}
	p.seen = v
	if v.early {
		return nil
	}
	var claims []kcp.Claim
	if e := p.workspace.export; e != nil {
		all, _ := claimsOf(&p.resource.Spec, p.workspace.plan.verbs) // Compile returns the error.
		claims = claimsIn(kcp.NewDraft("", e), all)
	}
	all, err := kcp.ConsumersOf(v.bindings, r, claims)
	if err != nil {
		return err
	}
	v.all = all
	v.consumers = slices.DeleteFunc(slices.Clone(all), func(c kcp.Consumer) bool { return c.Unbinds })
	if to, err := audience(p); err == nil {
		c.publications.Follow(p.resource.GetName(), to)
	}
	return nil
}

// view looks through all endpoints.
func (c *consumers) view(ctx context.Context, p *pass) *consumerView {
	v := &consumerView{endpoints: c.connect(ctx, p), homes: map[string]string{}, untold: p.workspace.slice == nil}
	for i := range v.endpoints {
		e := &v.endpoints[i]
		bindings, err := e.list(ctx, kcp.Bindings) // Those that are known are served, whatever fails.
		v.check(e, err)
		// Without a consumer kcp has no endpoint: one that shows none has just started.
		e.Listed = err == nil && len(bindings) > 0
		for _, b := range bindings {
			if kcp.Binds(b, p.workspace.plan.export, p.workspace.logical) {
				v.bindings = append(v.bindings, b)
				v.homes[b.GetAnnotations()[kcp.AnnotationCluster]] = e.URL
			}
		}
	}
	return v
}

// cannotRepublish returns why an API cannot be published anew whose former schema is gone, empty if it can: all
// workspaces store its objects in versions that it still has. If some are not in view, or have been, that is not known.
func (c *consumers) cannotRepublish(ctx context.Context, p *pass, full *projection.Projection) string {
	v, was := c.view(ctx, p), p.resource.Status.Workspaces
	stored, known := kcp.StorageVersions(v.bindings, full.Resource())
	if !known || !v.complete() || slices.ContainsFunc(v.endpoints, func(e endpoint) bool { return !e.Listed }) ||
		len(v.endpoints) == 0 && was != nil && was.Bound > 0 {
		return "the versions in which kcp stores objects are unknown"
	}
	stored = slices.DeleteFunc(stored, func(is string) bool { return projection.VersionOf(full.CRD, is) != nil })
	if len(stored) == 0 {
		return ""
	}
	return "kcp stores objects in a version that only this APIResourceSchema has: " + strings.Join(stored, ", ")
}

// connect returns the endpoints that kcp names, and ends the connections to those that are none any more.
func (c *consumers) connect(ctx context.Context, p *pass) []endpoint {
	w := p.workspace
	var urls []string
	if w.slice != nil {
		urls = kcp.Endpoints(w.slice)
	}
	for _, url := range p.memory.endpoints {
		if !slices.Contains(urls, url) {
			c.connections.registry.Forget(c.connections.owner(w.name, useEndpoint+url))
		}
	}
	p.memory.endpoints = urls
	endpoints := make([]endpoint, len(urls))
	for i, url := range urls {
		e := &endpoints[i]
		e.URL, e.owner = url, c.connections.owner(w.name, useEndpoint+url)
		at := w.connection
		at.Endpoint = url + clusters.AllClusters
		e.Cluster, e.err = c.connections.registry.Connect(ctx, e.owner, at)
	}
	return endpoints
}

// list returns all resources of a kind that an endpoint shows, and has the PublishedResource woken when one changes.
func (e *endpoint) list(ctx context.Context, r schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	if e.err != nil {
		return nil, e.err
	}
	i := informer.WatchRequest{Resource: r, Stream: informer.StreamAllWorkspaces}
	purpose := informer.Purpose(r.GroupResource().String())
	list, err := e.Cluster.Watches().List(ctx, e.owner, purpose, i)
	e.Cluster.Watches().Done(e.owner, purpose)
	return list, errors.Wrapf(err, "cannot list %s", r.GroupResource())
}

// ask asks an endpoint for all resources of a kind.
func (e *endpoint) ask(ctx context.Context, r schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	if e.err != nil {
		return nil, e.err
	}
	if err := e.Cluster.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := e.Cluster.Resource(r, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

// checkServed notes which endpoints do not serve what is wanted.
func (v *consumerView) checkServed(ctx context.Context, p *pass) {
	for i := range v.endpoints {
		e := &v.endpoints[i]
		if e.err != nil {
			continue
		}
		if _, err := e.Cluster.Mapping(ctx, p.wanted.kind); err != nil {
			v.check(e, err)
			e.Listed = false
			p.requeueAfter(unservedPoll)
		}
	}
}

// audience returns who has bound the API, and where they are reached. The error is that of an endpoint to which there
// is no connection.
func audience(p *pass) (publication.Consumers, error) {
	v := p.seen
	primary, _ := p.published()
	synced := sets.New(primary)
	for i := range p.resource.Spec.Related {
		synced.Insert(relatedAt(v1alpha1.OriginKCP, &p.resource.Spec.Related[i]).GroupResource())
	}
	c := publication.Consumers{
		Untold: v.untold, Workspaces: map[string]publication.Workspace{}, Schemas: kcp.SchemasBound(v.bindings, synced),
	}
	for _, e := range v.endpoints {
		if e.Cluster == nil {
			return c, e.err
		}
		c.Endpoints = append(c.Endpoints, e.Endpoint)
	}
	for _, consumer := range v.all {
		c.Workspaces[consumer.Cluster] = publication.Workspace{
			Path: consumer.Path, Endpoint: v.homes[consumer.Cluster], Bound: consumer.Bound,
			Hidden: strings.Join(resources(consumer.Open), ","), Whole: strings.Join(resources(consumer.Whole), ","),
		}
	}
	return c, nil
}

// resources returns the names of resources, or those of claims, sorted.
func resources[R fmt.Stringer](all []R) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.String())
	}
	slices.Sort(names)
	return names
}

// DefaultStateNamespace is the namespace with the states of PublishedResources if neither they nor an option name one.
const DefaultStateNamespace = "crossplane-system"

// errStillHeld means that objects of consumers may still have our finalizer.
var errStillHeld = errors.New("some objects may still have the finalizer")

// serve has the objects of consumers synced, and records in the status how far that is. What is not known yet stays as
// it is.
func (c *consumers) serve(ctx context.Context, p *pass) error {
	o := p.resource
	switch {
	case p.wanted == nil, p.wanted.pair.Service.Version == "":
		// The copies go with their definition, or objects wait for a version of it.
		if known := c.describe(p); !known {
			o.Status.Objects = nil
		}
		return nil
	case isSyncStopped(o), !p.workspace.offers(p.wanted.resource), p.seen.early:
		return nil
	}
	defer c.describe(p)
	served, err := c.config(ctx, p)
	if err != nil {
		return err
	}
	if err := c.publications.Serve(o.GetName(), served); err != nil {
		return errors.Wrap(errInvalidSpec, err.Error())
	}
	o.Status.AgentName = p.workspace.plan.agent
	return nil
}

// removeFinalizers has our finalizers taken off the objects of consumers, and fails unless all are.
func (c *consumers) removeFinalizers(ctx context.Context, p *pass) error {
	name := p.resource.GetName()
	if !p.seen.complete() {
		return errStillHeld
	}
	served, err := c.config(ctx, p)
	if err != nil {
		return err
	}
	served.RemoveFinalizers = true
	served.Revision += " unhold"
	if err := c.publications.Serve(name, served); err != nil {
		return err
	}
	if !c.publications.HoldsNone(name) {
		return errStillHeld
	}
	return nil
}

// config returns what is to be served.
func (c *consumers) config(ctx context.Context, p *pass) (out publication.Config, err error) {
	o, w := p.resource, p.workspace
	out.Service, out.Sync = p.service, objectsync.Config{
		Spec: o.Spec.DeepCopy(), Agent: w.plan.agent, StateNamespace: cmp.Or(o.Spec.StateNamespace, c.stateNamespace),
		Publication: strings.Join([]string{o.GetName(), w.logical, w.plan.export}, "/"), Primary: p.wanted.pair,
	}
	if out.Consumers, err = audience(p); err != nil {
		return out, err
	}
	if out.Sync.Related, err = findRelated(ctx, p); err != nil {
		return out, err
	}
	is := out.Sync
	// Their own texts are short of what tells them apart.
	out.Revision = fmt.Sprintf("%s %d %s %s %s %#v %#v", o.GetUID(), o.GetGeneration(), is.Agent, is.StateNamespace,
		is.Publication, is.Primary, is.Related)
	return out, nil
}

// describe records in the status what has become of the objects of consumers, and reports whether that is known. If
// not, it stays as it was.
func (c *consumers) describe(p *pass) (known bool) {
	now, denied := c.publications.Status(p.resource.GetName())
	if now == nil {
		return false
	}
	p.resource.Status.Objects = now
	switch {
	case denied != nil:
		p.report(v1alpha1.ReasonObjectsNotSynced, errors.Wrap(denied, "cannot read all objects"))
	case now.Failed > 0 && now.Synced == 0:
		first := now.Failures[0]
		p.report(v1alpha1.ReasonObjectsNotSynced, errors.Errorf(
			"none of %d objects is synced: %s in workspace %s: %s", now.Failed, first.Object, first.Workspace, first.Message))
	}
	return true
}
