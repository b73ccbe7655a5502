package publishedresource

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// purposeSource is the CustomResourceDefinition of what is published.
const purposeSource informer.Purpose = "source"

// builtInAge is how long the schema of a built-in API counts as known. It changes when a server is upgraded.
const builtInAge = time.Hour

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// errSourceMissing is the cause of the error if a service cluster does not have an API.
var errSourceMissing = errors.New("service cluster does not have the API")

// A source is an API of a service cluster.
type source struct {
	definition *apiextensionsv1.CustomResourceDefinition
	state      string // differs when the definition does
}

// A catalogue is what is known of the APIs of one service cluster.
type catalogue struct {
	mu       sync.Mutex
	kinds    map[string]schema.GroupKind   // of CustomResourceDefinitions, by their names
	defined  map[schema.GroupKind]struct{} // kinds that have, or once had, a CustomResourceDefinition
	builtIns map[schema.GroupKind]builtIn
}

type builtIn struct {
	source source
	at     time.Time
}

// catalogueOf returns what is known of a service cluster.
func (c *connector) catalogueOf(of *target.Cluster) *catalogue {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.catalogues[of.Server()]
	if !ok {
		k = &catalogue{
			kinds: map[string]schema.GroupKind{}, defined: map[schema.GroupKind]struct{}{},
			builtIns: map[schema.GroupKind]builtIn{},
		}
		c.catalogues[of.Server()] = k
	}
	return k
}

// find returns an API of a service cluster: among the CustomResourceDefinitions of its group, and then among what is
// built in. The owner is woken when its CustomResourceDefinition changes, comes or goes. The cause of the error is
// errSourceMissing if there is no such API.
func (k *catalogue) find(ctx context.Context, c *target.Cluster, o informer.Owner,
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
	if k.isDefined(gk) {
		return source{}, errors.Wrapf(errSourceMissing, "cannot find %s", gk) // Discovery may still name it.
	}
	return k.builtIn(ctx, c, gk)
}

// follow looks at the CustomResourceDefinition of a kind, if its name is known. Nothing is returned, and the name is
// forgotten, if it is not there or describes another kind.
func (k *catalogue) follow(ctx context.Context, c *target.Cluster, o informer.Owner,
	gk schema.GroupKind,
) (source, error) {
	name, ok := k.nameOf(gk)
	if !ok {
		return source{}, nil
	}
	i := informer.Interest{
		Resource: definitions, NamespacedName: types.NamespacedName{Name: name}, Stream: informer.StreamByName,
	}
	c.Watches().Track(o, purposeSource, i)
	u, err := c.Get(ctx, o, i)
	if err != nil {
		return source{}, errors.Wrapf(err, "cannot look at CustomResourceDefinition %q", name)
	}
	if u == nil || u.GetDeletionTimestamp() != nil || kindOf(u) != gk {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.kinds, name)
		return source{}, nil
	}
	d, err := decode(u)
	return source{definition: d, state: string(u.GetUID()) + "/" + u.GetResourceVersion()}, err
}

func (k *catalogue) nameOf(gk schema.GroupKind) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, is := range k.kinds {
		if is == gk {
			return name, true
		}
	}
	return "", false
}

// isDefined reports whether a kind has, or once had, a CustomResourceDefinition.
func (k *catalogue) isDefined(gk schema.GroupKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.defined[gk]
	return ok
}

// learn asks for the kinds of the CustomResourceDefinitions of a group that are not known, and forgets those that have
// gone.
func (k *catalogue) learn(ctx context.Context, c *target.Cluster, names []types.NamespacedName, group string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.kinds {
		if !slices.Contains(names, types.NamespacedName{Name: name}) {
			delete(k.kinds, name)
		}
	}
	for _, n := range names {
		if _, known := k.kinds[n.Name]; known || group == "" || !strings.HasSuffix(n.Name, "."+group) {
			continue
		}
		u, err := c.Read(ctx, informer.Interest{Resource: definitions, NamespacedName: n})
		if err != nil {
			return err
		}
		if u != nil {
			k.kinds[n.Name] = kindOf(u)
			k.defined[kindOf(u)] = struct{}{}
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
