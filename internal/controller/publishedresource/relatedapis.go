package publishedresource

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// purposeRelated are the CustomResourceDefinitions of related resources.
const purposeRelated informer.Purpose = "related"

// relatedAPIs returns the APIs of related resources on both sides, by their identifiers.
func (e *external) relatedAPIs(ctx context.Context, o *v1alpha1.PublishedResource,
	c publication.Config,
) (map[string]objectsync.Pair, error) {
	related := o.Spec.Related
	service := make([]schema.GroupVersionResource, len(related))
	for i := range related {
		service[i] = relatedAt(v1alpha1.OriginService, &related[i])
	}
	e.trackDefinitions(c.Service, service)
	if e.memory.related == nil || e.memory.relatedAs != o.GetGeneration() {
		e.memory.related, e.memory.relatedAs = map[apiAt]objectsync.Resource{}, o.GetGeneration()
	}
	out := map[string]objectsync.Pair{}
	for i := range related {
		r := &related[i]
		in := relatedAt(v1alpha1.OriginKCP, r)
		var pair objectsync.Pair
		var err error
		if pair.Service, pair.PlatformFields, err = e.findBelow(ctx, c.Service, service[i]); err != nil {
			return nil, errors.Wrapf(explain(err, r), "cannot sync related resource %q", r.Name())
		}
		if pair.Workspace, err = e.findAbove(ctx, c.Endpoints, in); err != nil {
			return nil, errors.Wrapf(explain(err, r), "cannot sync related resource %q", r.Name())
		}
		out[r.Name()] = pair
	}
	return out, nil
}

// relatedAt returns what related objects are on one side. The spec says what they are at their origin, whichever side
// that is, and its projection what they become on the other.
func relatedAt(side v1alpha1.Origin, r *v1alpha1.RelatedResource) schema.GroupVersionResource {
	gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	if r.Kind != "" {
		gvr = schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(r.Kind) + "s"}
	}
	if p := r.Projection; p != nil && side != r.Origin {
		gvr = schema.GroupVersionResource{
			Group: cmp.Or(p.Group, gvr.Group), Version: cmp.Or(p.Version, gvr.Version),
			Resource: cmp.Or(p.Resource, gvr.Resource),
		}
	}
	return gvr
}

// explain adds to an error about a related resource what its sides are, if they may have been taken for each other.
func explain(err error, r *v1alpha1.RelatedResource) error {
	if r.Origin != v1alpha1.OriginKCP || r.Projection == nil {
		return err
	}
	return errors.Wrapf(err, "related resource %q has the origin kcp, "+
		"so its projection says what it is on the service cluster, and its other fields what it is in kcp", r.Name())
}

// definitionOf returns the CustomResourceDefinition that an API of a service cluster has, if it has one.
func definitionOf(gr schema.GroupResource) informer.Interest {
	return informer.Interest{
		Resource: definitions, NamespacedName: types.NamespacedName{Name: gr.String()}, Stream: informer.StreamByName,
	}
}

// trackDefinitions has the PublishedResource woken when the definitions of related resources change. The core group has
// none.
func (e *external) trackDefinitions(c *target.Cluster, all []schema.GroupVersionResource) {
	var interests []informer.Interest
	for _, r := range all {
		if i := definitionOf(r.GroupResource()); r.Group != "" && !slices.Contains(interests, i) {
			interests = append(interests, i)
		}
	}
	c.Watches().Track(e.connector.owner(e.name, controllerSource), purposeRelated, interests...)
}

// findBelow returns an API of the service cluster and the paths of its fields that belong to the platform, as its
// CustomResourceDefinition says or, if it has none, discovery.
func (e *external) findBelow(ctx context.Context, c *target.Cluster,
	at schema.GroupVersionResource,
) (r objectsync.Resource, platform []string, err error) {
	var d *apiextensionsv1.CustomResourceDefinition
	if at.Group != "" {
		if d, err = e.definition(ctx, c, at.GroupResource()); err != nil {
			return r, nil, err
		}
	}
	if d == nil {
		r, err = e.remember(apiAt{at, c.Server()}, func() (objectsync.Resource, error) { return discover(c, at) })
		return r, nil, err
	}
	if !projection.Serves(d, at.Version) {
		return r, nil, errors.Errorf("the service cluster does not serve %s: install it, or correct spec.related", at)
	}
	return resourceOf(d, at.Version), projection.PlatformFields(d), nil
}

// definition returns the CustomResourceDefinition of an API of the service cluster, nil if there is none that may be
// read.
func (e *external) definition(ctx context.Context, c *target.Cluster,
	gr schema.GroupResource,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	u, err := c.Get(ctx, e.connector.owner(e.name, controllerSource), definitionOf(gr))
	if apierrors.IsForbidden(err) || err == nil && u == nil {
		return nil, nil //nolint:nilnil // Discovery tells what is served.
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot look at its CustomResourceDefinition")
	}
	return decode(u)
}

// findAbove returns an API of consumers: as the schema says by which the APIExport offers it, as an endpoint takes a
// while to serve a new one, or, if another one offers it, as the endpoints say.
func (e *external) findAbove(ctx context.Context, endpoints []publication.Endpoint,
	at schema.GroupVersionResource,
) (objectsync.Resource, error) {
	name := e.state.schemaOf(at.GroupResource())
	switch {
	case name == "" && len(endpoints) == 0:
		return objectsync.Resource{}, nil // There are no consumers.
	case name == "":
		return e.remember(apiAt{at, endpoints[0].URL}, func() (objectsync.Resource, error) {
			return discoverAtOne(endpoints, at)
		})
	}
	return e.remember(apiAt{at, name}, func() (objectsync.Resource, error) {
		s, err := e.readSchema(ctx, name)
		if err != nil {
			return objectsync.Resource{}, err
		}
		if s == nil {
			return objectsync.Resource{}, errors.Errorf("APIResourceSchema %q does not exist", name)
		}
		return described(s, at)
	})
}

// described returns a version of what an APIResourceSchema describes.
func described(s *apisv1alpha1.APIResourceSchema, r schema.GroupVersionResource) (objectsync.Resource, error) {
	i := slices.IndexFunc(s.Spec.Versions,
		func(v apisv1alpha1.APIResourceVersion) bool { return v.Name == r.Version && v.Served })
	if i < 0 {
		return objectsync.Resource{}, errors.Errorf("the APIExport does not offer %s: correct spec.related", r)
	}
	return objectsync.Resource{
		GroupVersionResource: r, Kind: s.Spec.Names.Kind, Scope: v1alpha1.ResourceScope(s.Spec.Scope),
		Status: s.Spec.Versions[i].Subresources.Status != nil,
	}, nil
}

// An apiAt is an API as a server, or as an APIResourceSchema, which never changes, has it.
type apiAt struct {
	schema.GroupVersionResource

	of string // URL or name
}

// remember returns what is known of an API, or asks. What has been found once is not asked for again before the spec of
// the PublishedResource is another.
func (e *external) remember(at apiAt, ask func() (objectsync.Resource, error)) (objectsync.Resource, error) {
	found, ok := e.memory.related[at]
	if ok {
		return found, nil
	}
	found, err := ask()
	if err == nil {
		e.memory.related[at] = found
	}
	return found, err
}

// discoverAtOne asks endpoints for an API, which all serve the same, until one answers. The error is that of the last.
func discoverAtOne(
	endpoints []publication.Endpoint, r schema.GroupVersionResource,
) (found objectsync.Resource, err error) {
	for _, one := range endpoints {
		if found, err = discover(one.Cluster, r); err == nil {
			break
		}
	}
	return found, err
}

// discover asks a server for an API.
func discover(c *target.Cluster, r schema.GroupVersionResource) (objectsync.Resource, error) {
	out := objectsync.Resource{GroupVersionResource: r, Scope: v1alpha1.ScopeCluster}
	list, err := c.Discovery().ServerResourcesForGroupVersion(r.GroupVersion().String())
	if err != nil {
		return out, errors.Wrapf(err, "cannot discover %s", r.GroupVersion())
	}
	for _, is := range list.APIResources {
		switch is.Name {
		case r.Resource:
			out.Kind = is.Kind
			if is.Namespaced {
				out.Scope = v1alpha1.ScopeNamespaced
			}
		case r.Resource + "/status":
			out.Status = true
		}
	}
	if out.Kind == "" {
		return out, errors.Errorf("%s does not serve %s", c.Server(), r)
	}
	return out, nil
}
