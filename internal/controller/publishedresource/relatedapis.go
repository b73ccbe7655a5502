package publishedresource

import (
	"context"
	"slices"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// purposeRelated are the CustomResourceDefinitions of related resources.
const purposeRelated informer.Purpose = "related"

// findRelated returns the APIs of related resources on both sides, by their identifiers.
func findRelated(ctx context.Context, p *pass) (map[string]objectsync.Pair, error) {
	related, m := p.resource.Spec.Related, p.memory
	trackDefinitions(p)
	if m.related == nil || m.relatedAs != p.resource.GetGeneration() {
		m.related, m.relatedAs = map[apiAt]objectsync.Resource{}, p.resource.GetGeneration()
	}
	out := map[string]objectsync.Pair{}
	for i := range related {
		r := &related[i]
		var pair objectsync.Pair
		var err error
		pair.Service, pair.PlatformFields, err = findBelow(ctx, p, relatedAt(v1alpha1.OriginService, r))
		if err == nil {
			pair.Workspace, err = findAbove(ctx, p, relatedAt(v1alpha1.OriginKCP, r))
		}
		if err != nil {
			return nil, errors.Wrapf(err, "cannot sync related resource %q", r.Name())
		}
		out[r.Name()] = pair
	}
	return out, nil
}

// trackDefinitions has the PublishedResource woken when the definitions of related resources change. The core group has
// none.
func trackDefinitions(p *pass) {
	var interests []informer.Interest
	for i := range p.resource.Spec.Related {
		r := relatedAt(v1alpha1.OriginService, &p.resource.Spec.Related[i])
		if i := byName(definitions, r.GroupResource().String()); r.Group != "" && !slices.Contains(interests, i) {
			interests = append(interests, i)
		}
	}
	p.service.Watches().Track(p.sourceOwner, purposeRelated, interests...)
}

// findBelow returns an API of the service cluster and the paths of its fields that belong to the platform, as its
// CustomResourceDefinition says or, if it has none, discovery.
func findBelow(ctx context.Context, p *pass,
	at schema.GroupVersionResource,
) (r objectsync.Resource, platform []string, err error) {
	var u *unstructured.Unstructured
	if at.Group != "" {
		if u, err = p.service.Get(ctx, p.sourceOwner, byName(definitions, at.GroupResource().String())); err != nil {
			return r, nil, errors.Wrap(err, "cannot look at its CustomResourceDefinition")
		}
	}
	if u == nil {
		r, err = p.memory.remember(apiAt{at, p.service.Server()}, func() (objectsync.Resource, error) {
			return discover(p.service, at)
		})
		return r, nil, err
	}
	d, err := decode(u)
	if err == nil && !projection.Serves(d, at.Version) {
		err = errors.Errorf("the service cluster does not serve %s: install it, or correct spec.related", at)
	}
	if err != nil {
		return r, nil, err
	}
	return resourceOf(d, at.Version), projection.PlatformFields(d), nil
}

// findAbove returns an API of consumers: as the schema says by which the APIExport offers it, as an endpoint takes a
// while to serve a new one, or, if another one offers it, as the first endpoint says that answers: all serve the same.
func findAbove(ctx context.Context, p *pass, at schema.GroupVersionResource) (r objectsync.Resource, err error) {
	if name := p.workspace.schemaOf(at.GroupResource()); name != "" {
		return p.memory.remember(apiAt{at, name}, func() (objectsync.Resource, error) {
			s, err := p.workspace.readSchema(ctx, name)
			if err != nil {
				return objectsync.Resource{}, err
			}
			if s == nil {
				return objectsync.Resource{}, errors.Errorf("APIResourceSchema %q does not exist", name)
			}
			return described(s, at)
		})
	}
	if len(p.seen.endpoints) == 0 {
		return r, nil // There are no consumers.
	}
	return p.memory.remember(apiAt{at, p.seen.endpoints[0].URL}, func() (r objectsync.Resource, err error) {
		for _, e := range p.seen.endpoints {
			if r, err = discover(e.Cluster, at); err == nil {
				break
			}
		}
		return r, err
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
func (m *memory) remember(at apiAt, ask func() (objectsync.Resource, error)) (objectsync.Resource, error) {
	found, ok := m.related[at]
	if ok {
		return found, nil
	}
	found, err := ask()
	if err == nil {
		m.related[at] = found
	}
	return found, err
}

// discover asks a server for an API.
func discover(c *clusters.Cluster, r schema.GroupVersionResource) (objectsync.Resource, error) {
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
