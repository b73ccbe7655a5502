package publishedresource

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// purposeSource is the CustomResourceDefinition of what is published.
const purposeSource informer.Purpose = "source"

// builtInAge is how long the schema of a built-in API counts as known. It changes when a server is upgraded.
const builtInAge = time.Hour

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// errSourceMissing is the cause of the error if a service cluster does not have an API.
var errSourceMissing = errors.New("service cluster does not have the API: install it, or correct spec.resource")

// A source is an API of a service cluster.
type source struct {
	definition *apiextensionsv1.CustomResourceDefinition
	state      string // differs when the definition does
}

// A catalogue is what is known of the APIs of one service cluster.
type catalogue struct {
	mu       sync.Mutex
	defined  map[schema.GroupKind]definedBy
	builtIns map[schema.GroupKind]builtIn
}

// A definedBy is the name of the CustomResourceDefinition that a kind has, or once had.
type definedBy struct {
	name string
	gone bool
}

type builtIn struct {
	source source
	at     time.Time
}

// catalogueOf returns what is known of a service cluster.
func (u *publisher) catalogueOf(c *clusters.Cluster) *catalogue {
	known, _ := u.catalogues.LoadOrStore(c.Server(),
		&catalogue{defined: map[schema.GroupKind]definedBy{}, builtIns: map[schema.GroupKind]builtIn{}})
	k, _ := known.(*catalogue)
	return k
}

// find returns an API of a service cluster: among the CustomResourceDefinitions of its group, and then among what is
// built in. The owner is woken when its CustomResourceDefinition changes, comes or goes. The cause of the error is
// errSourceMissing if there is no such API.
func (k *catalogue) find(ctx context.Context, c *clusters.Cluster, o informer.Owner,
	gk schema.GroupKind,
) (source, error) {
	if src, err := k.follow(ctx, c, o, gk); err != nil || src.definition != nil {
		return src, err
	}
	all := informer.Interest{Resource: definitions, Stream: informer.StreamNames}
	c.Watches().Track(o, purposeSource, all)
	names, err := c.Watches().Names(ctx, o, all)
	if err != nil {
		return source{}, errors.Wrap(err, "cannot list CustomResourceDefinitions of the service cluster")
	}
	if err := k.learn(ctx, c, names, gk.Group); err != nil {
		return source{}, err
	}
	if src, err := k.follow(ctx, c, o, gk); err != nil || src.definition != nil {
		return src, err
	}
	c.Watches().Track(o, purposeSource, all)
	if k.definition(gk).name != "" {
		return source{}, errors.Wrapf(errSourceMissing, "cannot find %s", gk) // Discovery may still name it.
	}
	return k.builtIn(ctx, c, gk)
}

// follow looks at the CustomResourceDefinition of a kind, if its name is known. Nothing is returned if it is not there
// or describes another kind.
func (k *catalogue) follow(ctx context.Context, c *clusters.Cluster, o informer.Owner,
	gk schema.GroupKind,
) (source, error) {
	is := k.definition(gk)
	if is.name == "" || is.gone {
		return source{}, nil
	}
	i := byName(definitions, is.name)
	c.Watches().Track(o, purposeSource, i)
	u, err := c.Get(ctx, o, i)
	if err != nil {
		return source{}, errors.Wrapf(err, "cannot look at CustomResourceDefinition %q", is.name)
	}
	if u == nil || u.GetDeletionTimestamp() != nil || kindOf(u) != gk {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.defined[gk] = definedBy{is.name, true}
		return source{}, nil
	}
	d, err := decode(u)
	return source{definition: d, state: string(u.GetUID()) + "/" + u.GetResourceVersion()}, err
}

// definition returns what defines a kind, with an empty name if nothing ever has.
func (k *catalogue) definition(gk schema.GroupKind) definedBy {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.defined[gk]
}

// learn asks for the kinds of the CustomResourceDefinitions of a group that are not known.
func (k *catalogue) learn(ctx context.Context, c *clusters.Cluster, names []types.NamespacedName, group string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := map[string]bool{}
	for gk, is := range k.defined {
		is.gone = is.gone || !slices.Contains(names, types.NamespacedName{Name: is.name})
		k.defined[gk] = is
		known[is.name] = known[is.name] || !is.gone
	}
	for _, n := range names {
		if known[n.Name] || group == "" || !strings.HasSuffix(n.Name, "."+group) {
			continue
		}
		u, err := c.Read(ctx, byName(definitions, n.Name))
		if err != nil {
			return err
		}
		if u != nil {
			k.defined[kindOf(u)] = definedBy{n.Name, false}
		}
	}
	return nil
}

func kindOf(u *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

func decode(u *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	d := &apiextensionsv1.CustomResourceDefinition{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d)
	return d, errors.Wrapf(err, "cannot read CustomResourceDefinition %q", u.GetName())
}

// builtIn returns an API of a service cluster that no CustomResourceDefinition defines. What is known is asked again
// after builtInAge.
func (k *catalogue) builtIn(ctx context.Context, c *clusters.Cluster, gk schema.GroupKind) (source, error) {
	k.mu.Lock()
	known, ok := k.builtIns[gk]
	k.mu.Unlock()
	if ok && time.Since(known.at) < builtInAge {
		return known.source, nil
	}
	src, err := readBuiltIn(ctx, c.Discovery(), gk)
	if err != nil {
		return source{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.builtIns[gk] = builtIn{source: src, at: time.Now()}
	return src, nil
}

// readBuiltIn asks a server for the definition of a kind that is built in.
func readBuiltIn(ctx context.Context, d discovery.DiscoveryInterface, gk schema.GroupKind) (source, error) {
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
			b, err := readVersion(ctx, d, gk.WithVersion(v.Version).GroupVersion())
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

// readVersion asks a server for all it says about a group and version.
func readVersion(ctx context.Context, d discovery.DiscoveryInterface,
	gv schema.GroupVersion,
) (projection.BuiltIn, error) {
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		return projection.BuiltIn{}, errors.Wrapf(err, "cannot discover %s", gv)
	}
	path := []string{"openapi", "v3", "apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"openapi", "v3", "api", gv.Version}
	}
	doc, err := d.RESTClient().Get().AbsPath("/"+strings.Join(path, "/")).SetHeader("Accept",
		"application/json").Do(ctx).Raw()
	if err != nil {
		return projection.BuiltIn{}, errors.Wrapf(err, "cannot read OpenAPI of %s", gv)
	}
	return projection.BuiltIn{Version: gv.Version, Resources: list.APIResources, Document: doc}, nil
}
