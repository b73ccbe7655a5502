package publishedresource

import (
	"context"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// restored records on each PublishedResource of a restored server that it has been: a workspace, an endpoint or a
// service cluster.
func (c *connector) restored(r target.Restored) {
	names := map[string]bool{} // whether the server is of kcp to each of them
	for _, o := range r.Owners {
		name, inKCP := ofOwner(o.NamespacedName).Name, slices.Contains([]string{
			c.controller, c.controller + controllerEndpoint,
		}, o.Controller)
		if inKCP || o.Controller == c.controller+controllerSource {
			names[name] = names[name] || inKCP
		}
	}
	for name, inKCP := range names {
		c.publications.Restored(name, inKCP) // Before anybody is told of a change.
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o := &v1alpha1.PublishedResource{}
		if c.local.Get(context.Background(), types.NamespacedName{Name: name}, o) == nil {
			c.events.Event(o, event.Warning(commonv1.ReasonTargetRestored, errors.Errorf(
				"resourceVersion of server %s decreased (restored from a backup?): "+
					"all objects there are compared again", r.Server)))
		}
	}
}
