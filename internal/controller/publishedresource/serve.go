package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
)

// DefaultStateNamespace is the namespace with the states of PublishedResources if neither they nor an option name one.
const DefaultStateNamespace = "crossplane-system"

// serve has the objects of consumers synced, and records in the status how far that is.
func (e *external) serve(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if isSyncStopped(o) {
		return nil
	}
	if e.seen != nil && !e.seen.early && len(e.seen.endpoints) == 0 {
		// What the last consumers have left behind is still told of. Without an endpoint nobody says that they are
		// gone.
		e.describeObjects(o)
		return nil
	}
	if e.seen == nil || e.seen.early || e.desiredAPI == nil || !e.state.offers(e.desiredAPI.resource) {
		return nil // It stays as it is.
	}
	c, err := e.publication(ctx, o)
	if err != nil {
		return err
	}
	err = e.publications.Serve(e.name, c)
	if err == nil {
		o.Status.AgentName = e.plan.agent
	}
	e.describeObjects(o)
	if errors.Is(err, objectsync.ErrInvalidSpec) {
		return errors.Wrap(errInvalidSpec, err.Error())
	}
	return err
}

// serveLast has the objects of consumers synced of an API that is being withdrawn: they cannot go otherwise.
func (e *external) serveLast(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if isSyncStopped(o) {
		return nil
	}
	var err error
	if e.desiredAPI, err = e.desired(ctx, o); err != nil {
		// What is to be withdrawn does not depend on a source.
		return nil //nolint:nilerr // Without a source there is nothing to sync to.
	}
	if err := e.observeConsumers(ctx, o); err != nil {
		return err
	}
	return e.serve(ctx, o)
}

// publication returns what is to be served.
func (e *external) publication(ctx context.Context, o *v1alpha1.PublishedResource) (publication.Config, error) {
	c := publication.Config{Sync: objectsync.Config{
		Spec: o.Spec.DeepCopy(), Agent: e.plan.agent, StateNamespace: cmp.Or(o.Spec.StateNamespace, e.stateNamespace),
		Publication: strings.Join([]string{e.name, e.state.cluster, e.plan.export}, "/"), Primary: e.desiredAPI.pair,
	}}
	var err error
	if c.Consumers, err = e.audience(ctx, o); err != nil {
		return c, err
	}
	if c.Service, _, err = e.service(ctx, o); err != nil {
		return c, err
	}
	if c.Sync.Related, err = e.relatedAPIs(ctx, o, c); err != nil {
		return c, err
	}
	s := c.Sync
	// Their own texts are short of what tells them apart.
	c.Revision = fmt.Sprintf("%s %d %s %s %s %#v %#v", o.GetUID(), o.GetGeneration(), s.Agent, s.StateNamespace,
		s.Publication, s.Primary, s.Related)
	return c, nil
}

// audience returns who has bound the API, and where they are reached.
func (e *external) audience(ctx context.Context, o *v1alpha1.PublishedResource) (publication.Consumers, error) {
	c := publication.Consumers{Workspaces: map[string]publication.Workspace{}, Schemas: e.schemas(o)}
	for _, url := range e.seen.endpoints {
		cluster, _, err := e.endpoint(ctx, url)
		if cluster == nil {
			return c, err
		}
		c.Endpoints = append(c.Endpoints, publication.Endpoint{URL: url, Cluster: cluster, Listed: e.seen.listed[url]})
	}
	for cluster, url := range e.seen.homes {
		c.Workspaces[cluster] = publication.Workspace{Endpoint: url} // Its binding may be going.
	}
	for _, consumer := range e.consumers {
		c.Workspaces[consumer.Cluster] = publication.Workspace{
			Path: consumer.Path, Endpoint: e.seen.homes[consumer.Cluster], Bound: consumer.Bound,
			Hidden: strings.Join(resources(consumer.Open), ","),
		}
	}
	return c, nil
}

// schemas returns the names of the schemas by which consumers know the APIs that are synced, sorted.
func (e *external) schemas(o *v1alpha1.PublishedResource) []string {
	primary, _ := e.published(o)
	synced := map[schema.GroupResource]bool{primary: true}
	for i := range o.Spec.Related {
		synced[relatedAt(v1alpha1.OriginKCP, &o.Spec.Related[i]).GroupResource()] = true
	}
	var names []string
	for name := range kcp.SchemasBound(e.seen.bindings) {
		if r, ok := kcp.ResourceOf(name); ok && synced[r] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// describeObjects records in the status what has become of the objects of consumers, and an event for each workspace
// that has left copies behind. What is not known stays as it was.
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
			e.events.Event(o, event.Normal(reasonOrphaned,
				fmt.Sprintf("Workspace %s has left %d copies behind: it no longer binds the API, "+
					"or kcp was restored to a time before their objects", w.Workspace, w.Copies)))
		}
	}
	o.Status.Objects = now
	if err := e.publications.Denied(e.name); err != nil {
		e.pass.report(v1alpha1.ReasonObjectsNotSynced, errors.Wrap(err, "cannot see all objects"))
		return
	}
	if now.Failed > 0 && now.Synced == 0 {
		first := now.Failures[0]
		e.pass.report(v1alpha1.ReasonObjectsNotSynced, errors.Errorf(
			"none of %d objects is synced: %s in workspace %s: %s", now.Failed, first.Object, first.Workspace, first.Message))
	}
}
