package publishedresource

import (
	"context"
	"strings"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// builtIn returns an API of a service cluster that no CustomResourceDefinition defines. What is known is asked again
// after builtInAge.
func (k *catalogue) builtIn(ctx context.Context, c *target.Cluster, gk schema.GroupKind) (source, error) {
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
