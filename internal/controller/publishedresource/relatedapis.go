package publishedresource

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// purposeRelated are the CustomResourceDefinitions of related resources.
const purposeRelated watch.Purpose = "related"

// relatedAPIs returns the APIs of related resources on both sides, by their identifiers.
func (e *external) relatedAPIs(ctx context.Context, o *v1alpha1.PublishedResource, c publication.Config) (map[string]objectsync.Pair, error) {
	related := o.Spec.Related
	service := make([]schema.GroupVersionResource, len(related))
	for i := range related {
		service[i] = relatedBelow(&related[i])
	}
	e.trackDefinitions(c.Service, service)
	out := map[string]objectsync.Pair{}
	for i := range related {
		r := &related[i]
		in := relatedInKCP(r).WithVersion(service[i].Version)
		if r.Projection != nil {
			in.Version = cmp.Or(r.Projection.Version, in.Version)
		}
		var pair objectsync.Pair
		var err error
		if pair.Service, err = e.findBelow(ctx, c.Service, service[i]); err != nil {
			return nil, errors.Wrapf(err, "cannot sync related resource %q", r.Name())
		}
		if pair.Workspace, err = e.apis.find(c.Endpoints[0].Cluster, in, schemasBound(e.seen, in.GroupResource())); err != nil {
			return nil, errors.Wrapf(err, "cannot sync related resource %q", r.Name())
		}
		out[r.Name()] = pair
	}
	return out, nil
}

// relatedBelow returns what related objects are on the service cluster.
func relatedBelow(r *v1alpha1.RelatedResource) schema.GroupVersionResource {
	if r.Kind != "" {
		return schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(r.Kind) + "s"}
	}
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// schemasBound returns the names of the schemas by which consumers know an API, as one text. It is empty for what the APIExport does not offer.
func schemasBound(v *view, gr schema.GroupResource) string {
	var names []string
	for name := range kcp.SchemasBound(v.bindings) {
		if r, ok := kcp.ResourceOf(name); ok && r == gr {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// definitionOf returns the CustomResourceDefinition that an API of a service cluster has, if it has one.
func definitionOf(gr schema.GroupResource) watch.Interest {
	return watch.Interest{Resource: definitions, NamespacedName: types.NamespacedName{Name: gr.String()}, Scope: watch.ScopeName}
}

// trackDefinitions has the PublishedResource woken when the definitions of related resources change. The core group has none.
func (e *external) trackDefinitions(c *target.Cluster, all []schema.GroupVersionResource) {
	var interests []watch.Interest
	for _, r := range all {
		if i := definitionOf(r.GroupResource()); r.Group != "" && !slices.Contains(interests, i) {
			interests = append(interests, i)
		}
	}
	c.Watches().Track(e.connector.owner(e.name, controllerSource), purposeRelated, interests...)
}

// findBelow returns an API of the service cluster, as its CustomResourceDefinition says or, if it has none, discovery.
func (e *external) findBelow(ctx context.Context, c *target.Cluster, r schema.GroupVersionResource) (objectsync.Resource, error) {
	if r.Group == "" {
		return e.apis.find(c, r, "")
	}
	u, err := c.See(ctx, e.connector.owner(e.name, controllerSource), definitionOf(r.GroupResource()))
	if err != nil && !apierrors.IsForbidden(err) {
		return objectsync.Resource{}, errors.Wrap(err, "cannot look at its CustomResourceDefinition")
	}
	if err != nil || u == nil {
		return e.apis.find(c, r, "")
	}
	d, err := decode(u)
	if err != nil {
		return objectsync.Resource{}, err
	}
	if !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == r.Version && v.Served }) {
		return objectsync.Resource{}, errors.Errorf("the service cluster does not serve %s", r)
	}
	return resourceOf(d, r.Version), nil
}

// apis remembers what servers serve.
type apis struct {
	mu    sync.Mutex
	known map[apiAt]api
}

type apiAt struct {
	server   string
	resource schema.GroupVersionResource
}

// An api is one as of a state of what defines it.
type api struct {
	objectsync.Resource

	state string
}

func newAPIs() *apis { return &apis{known: map[apiAt]api{}} }

// find returns an API of a server. What has been found once is not asked for again as long as what defines it has the same state.
func (a *apis) find(c *target.Cluster, r schema.GroupVersionResource, state string) (objectsync.Resource, error) {
	at := apiAt{c.Server(), r}
	a.mu.Lock()
	known, ok := a.known[at]
	a.mu.Unlock()
	if ok && known.state == state {
		return known.Resource, nil
	}
	found, err := discover(c, r)
	if err != nil {
		return found, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[at] = api{Resource: found, state: state}
	return found, nil
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
		return out, errors.Errorf("%s does not serve %s", kindOfServer(c), r)
	}
	return out, nil
}

// kindOfServer returns what a cluster is to those who read errors.
func kindOfServer(c *target.Cluster) string {
	if strings.HasSuffix(c.Server(), target.AllClusters) {
		return "the endpoint of the APIExport"
	}
	return "the service cluster"
}
