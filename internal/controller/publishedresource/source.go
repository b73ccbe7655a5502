package publishedresource

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// builtInAge is how long the schema of a built-in API counts as known. It changes when a server is upgraded.
const builtInAge = time.Hour

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// A source is an API of a service cluster.
type source struct {
	definition *apiextensionsv1.CustomResourceDefinition
	state      string // differs when the definition does
}

// A knownSource is the definition of a kind on a service cluster, as far as it is known.
type knownSource struct {
	server string // URL of the service cluster
	kind   schema.GroupKind
	name   string // of the CustomResourceDefinition that the kind has, or once had

	builtIn source // empty if it has not been asked for
	asked   time.Time
}

// find returns an API of a service cluster: its CustomResourceDefinition or, if it has none, what is built in. The
// owner is woken when its CustomResourceDefinition changes, goes or comes back. The cause of the error is
// errSourceMissing if there is no such API.
func (k *knownSource) find(ctx context.Context, c *clusters.Cluster, o informer.Owner,
	gk schema.GroupKind,
) (source, error) {
	if k.server != c.Server() || k.kind != gk {
		*k = knownSource{server: c.Server(), kind: gk}
		c.Watches().Done(o, purposeSource)
	}
	if src, err := k.follow(ctx, c, o); err != nil || src.definition != nil {
		return src, err
	}
	if k.builtIn.definition != nil && time.Since(k.asked) < builtInAge {
		return k.builtIn, nil
	}
	m, served, err := c.Find(ctx, gk)
	if err != nil {
		return source{}, errors.Wrapf(err, "cannot find %s on the service cluster", gk)
	}
	var u *unstructured.Unstructured
	if served && gk.Group != "" {
		if u, err = c.Read(ctx, byName(definitions, m.Resource.GroupResource().String())); err != nil {
			return source{}, err
		}
	}
	switch {
	case isOf(u, gk):
		k.name = u.GetName()
		src, err := k.follow(ctx, c, o)
		if err == nil && src.definition == nil {
			err = errors.Wrapf(errSourceMissing, "cannot find %s", gk)
		}
		return src, err
	case !served || k.name != "" || u != nil: // Discovery may still name it.
		c.InvalidateMapping(m.Resource.GroupVersion().WithKind(gk.Kind))
		return source{}, errors.Wrapf(errSourceMissing, "cannot find %s", gk)
	}
	if k.builtIn, err = readBuiltIn(c.Discovery(), gk); err == nil {
		k.asked = time.Now()
	}
	return k.builtIn, err
}

// follow looks at the CustomResourceDefinition of the kind, if its name is known. Nothing is returned if it is not
// there or describes another kind.
func (k *knownSource) follow(ctx context.Context, c *clusters.Cluster, o informer.Owner) (source, error) {
	if k.name == "" {
		return source{}, nil
	}
	u, err := c.Get(ctx, o, purposeSource, byName(definitions, k.name))
	c.Watches().Done(o, purposeSource)
	if err != nil || !isOf(u, k.kind) {
		return source{}, errors.Wrapf(err, "cannot read CustomResourceDefinition %q", k.name)
	}
	d, err := decode(u)
	return source{definition: d, state: string(u.GetUID()) + "/" + u.GetResourceVersion()}, err
}

// isOf reports whether there is a CustomResourceDefinition, which stays, and it describes a kind.
func isOf(u *unstructured.Unstructured, gk schema.GroupKind) bool {
	if u == nil || u.GetDeletionTimestamp() != nil {
		return false
	}
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
	return gk == schema.GroupKind{Group: group, Kind: kind}
}

func decode(u *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	d := &apiextensionsv1.CustomResourceDefinition{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d)
	return d, errors.Wrapf(err, "cannot read CustomResourceDefinition %q", u.GetName())
}

// BuiltIn returns the definition of a kind that is built in, nil if the server does not serve it.
func BuiltIn(
	d discovery.DiscoveryInterface, gk schema.GroupKind,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	src, err := readBuiltIn(d, gk)
	if errors.Is(err, errSourceMissing) {
		return nil, nil //nolint:nilnil // None is none.
	}
	return src.definition, err
}

// readBuiltIn asks a server for the definition of a kind that is built in.
func readBuiltIn(d discovery.DiscoveryInterface, gk schema.GroupKind) (source, error) {
	groups, err := d.ServerGroups()
	if err != nil {
		return source{}, errors.Wrap(err, "cannot discover the groups of the service cluster")
	}
	preferred, versions := "", []projection.BuiltIn(nil)
	for _, g := range groups.Groups {
		if g.Name != gk.Group {
			continue
		}
		preferred = g.PreferredVersion.Version
		for _, v := range g.Versions {
			b, err := readVersion(d, gk.WithVersion(v.Version).GroupVersion(), gk.Kind)
			if err != nil {
				return source{}, err
			}
			versions = append(versions, b)
		}
	}
	crd, err := projection.FromOpenAPI(gk, preferred, versions...)
	if projection.ReasonOf(err) == projection.NotServed {
		return source{}, errors.Wrapf(errSourceMissing, "cannot find %s", gk)
	}
	if err != nil {
		return source{}, errors.Wrapf(err, "cannot read the definition of %s", gk)
	}
	return source{definition: crd, state: "built in, as of " + metav1.Now().String()}, nil
}

// readVersion asks a server for all it says about a kind in a group and version.
func readVersion(d discovery.DiscoveryInterface, gv schema.GroupVersion, kind string) (projection.BuiltIn, error) {
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		return projection.BuiltIn{}, errors.Wrapf(err, "cannot discover %s", gv)
	}
	b := projection.BuiltIn{Version: gv.Version, Resources: list.APIResources}
	described, err := (&resolver.ClientDiscoveryResolver{Discovery: d}).ResolveSchema(gv.WithKind(kind))
	if errors.Is(err, resolver.ErrSchemaNotFound) {
		return b, nil
	}
	if err == nil {
		b.Schema, err = json.Marshal(described)
	}
	return b, errors.Wrapf(err, "cannot read OpenAPI of %s", gv)
}

// findRelated returns the APIs of related resources on both sides, by their identifiers.
func findRelated(ctx context.Context, p *pass) (map[string]objectsync.Pair, error) {
	related, m := p.resource.Spec.Related, p.memory
	if m.relatedAs != p.resource.GetGeneration() {
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
	p.service.Watches().Done(p.sourceOwner, purposeRelated)
	return out, nil
}

// findBelow returns an API of the service cluster and the paths of its fields that belong to the platform, as its
// CustomResourceDefinition says or, if it has none, discovery.
func findBelow(ctx context.Context, p *pass,
	at schema.GroupVersionResource,
) (r objectsync.Resource, platform []string, err error) {
	var u *unstructured.Unstructured
	if at.Group != "" { // The core group has none.
		i := byName(definitions, at.GroupResource().String())
		if u, err = p.service.Get(ctx, p.sourceOwner, purposeRelated, i); err != nil {
			return r, nil, errors.Wrap(err, "cannot read its CustomResourceDefinition")
		}
	}
	if u == nil {
		r, err = p.memory.remember(apiAt{at, p.service.Server()}, func() (objectsync.Resource, error) {
			return discover(p.service, at)
		})
		return r, nil, err
	}
	d, err := decode(u)
	if err == nil && !apihelpers.HasServedCRDVersion(d, at.Version) {
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

// discover asks a server for an API.
func discover(c *clusters.Cluster, r schema.GroupVersionResource) (objectsync.Resource, error) {
	out := objectsync.Resource{GroupVersionResource: r, Scope: v1alpha1.ScopeCluster}
	list, err := c.Discovery().ServerResourcesForGroupVersion(r.GroupVersion().String())
	if err != nil {
		// An API server answers 404 as anything else may do. Its list of groups is an answer of its own.
		groups, unknown := c.Discovery().ServerGroups()
		if unknown == nil && !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == r.Group }) {
			return out, errors.Errorf("%s does not serve %s: install it, or correct spec.related", c.Server(), r)
		}
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
		return out, errors.Errorf("%s does not serve %s: install it, or correct spec.related", c.Server(), r)
	}
	return out, nil
}
