package publishedresource

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// What is watched through the endpoints.
const (
	purposeBindings informer.Purpose = "bindings"
	purposeObjects  informer.Purpose = "objects"
)

// A consumerView is what the endpoints of an APIExport show of its consumers.
type consumerView struct {
	endpoints []string                     // their URLs
	listed    map[string]bool              // which of them show all their bindings
	bindings  []*unstructured.Unstructured // shared with the watch
	homes     map[string]string            // the endpoints of logical clusters
	problems  []endpointProblem            // of endpoints that do not show all
	early     bool                         // some of it is not known yet
}

// An endpointProblem is what is wrong with an endpoint.
type endpointProblem struct {
	url, message string
	// unserved means that the endpoint does not serve the API, which kcp cures a moment after the API is published.
	unserved bool
}

// complete reports whether all bindings are in view.
func (v *consumerView) complete() bool { return !v.early && len(v.problems) == 0 }

// observeConsumers looks at who uses the API, and records it in the status. What is not known yet stays as it was.
func (e *external) observeConsumers(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if err := e.see(ctx, o); err != nil {
		return err
	}
	if !e.seen.early {
		e.describeConsumers(o)
	}
	e.judge(o)
	return nil
}

// see looks at who uses the API. Consumers are not known if it is early.
func (e *external) see(ctx context.Context, o *v1alpha1.PublishedResource) error {
	e.seen = e.view(ctx)
	r, offered := e.published(o)
	if offered && e.desiredAPI != nil {
		e.checkServed(ctx, e.seen)
	}
	if e.seen.early {
		return nil
	}
	claims, err := e.claimed(o)
	if err != nil {
		return err
	}
	if e.consumers, err = kcp.ConsumersOf(e.seen.bindings, r, claims); err != nil {
		return err
	}
	if c, err := e.audience(ctx, o); err == nil {
		e.publications.Follow(e.name, c) // Whatever else is wrong, what is served is for who binds it by now.
	}
	return nil
}

// published returns the resource that consumers see, and whether the APIExport offers it.
func (e *external) published(o *v1alpha1.PublishedResource) (schema.GroupResource, bool) {
	if e.desiredAPI != nil {
		return e.desiredAPI.resource, e.state.offers(e.desiredAPI.resource)
	}
	r, ok := kcp.ResourceOf(o.Status.ResourceSchemaName)
	return r, ok && e.state.offers(r)
}

// claimed returns the claims that consumers are asked to accept for the API.
func (e *external) claimed(o *v1alpha1.PublishedResource) ([]kcp.Claim, error) {
	if e.state.export == nil {
		return nil, nil
	}
	all, err := claimsOf(&o.Spec, e.plan.verbs)
	return claimsIn(kcp.NewDraft("", e.state.export), all), err
}

// view looks through all endpoints.
func (e *external) view(ctx context.Context) *consumerView {
	v := &consumerView{listed: map[string]bool{}, homes: map[string]string{}}
	if e.state.slice != nil {
		v.endpoints = kcp.Endpoints(e.state.slice)
	}
	e.keepEndpoints(v.endpoints)
	for _, url := range v.endpoints {
		bindings, err := e.listAt(ctx, url, purposeBindings, kcp.Bindings)
		v.note(url, err)
		// Without a consumer kcp has no endpoint: one that shows none has just started.
		v.listed[url] = err == nil && len(bindings) > 0
		for _, b := range bindings {
			if kcp.Binds(b, e.plan.export, e.state.cluster) {
				v.bindings = append(v.bindings, b)
				v.homes[b.GetAnnotations()[kcp.AnnotationCluster]] = url
			}
		}
	}
	return v
}

// note records what is wrong with an endpoint. Conflicts mean that it is too early to tell.
func (v *consumerView) note(url string, err error) {
	switch {
	case apierrors.IsConflict(err):
		v.early = true
	case err != nil:
		v.problems = append(v.problems,
			endpointProblem{url, "endpoint " + url + ": " + err.Error(), target.IsNoKind(err)})
	}
}

// listAt returns all resources of a kind that an endpoint shows, and has the PublishedResource woken when one changes.
func (e *external) listAt(ctx context.Context, url string, p informer.Purpose,
	r schema.GroupVersionResource,
) ([]*unstructured.Unstructured, error) {
	cluster, owner, err := e.endpoint(ctx, url)
	if err != nil {
		return nil, err
	}
	i := informer.Interest{Resource: r, Stream: informer.StreamAllWorkspaces}
	cluster.Watches().Track(owner, p, i)
	list, err := cluster.Watches().List(ctx, owner, i)
	return list, errors.Wrapf(err, "cannot list %s", r.GroupResource())
}

// checkServed notes which endpoints do not serve the API.
func (e *external) checkServed(ctx context.Context, v *consumerView) {
	for _, url := range v.endpoints {
		cluster, owner, err := e.endpoint(ctx, url)
		if err != nil {
			continue // It is noted already.
		}
		if _, err := cluster.Mapping(ctx, owner, e.desiredAPI.kind); err != nil {
			v.note(url, err)
			v.listed[url] = false
		}
	}
}

// count returns how many consumers can use the API.
func count(consumers []kcp.Consumer) (bound int64) {
	for _, c := range consumers {
		if c.Bound {
			bound++
		}
	}
	return bound
}
