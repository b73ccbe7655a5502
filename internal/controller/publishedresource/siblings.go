package publishedresource

import (
	"context"
	"net/url"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// siblings returns the other PublishedResources that are known to publish to the same APIExport. The objects are
// shared with the cache.
func (e *external) siblings(ctx context.Context, o *v1alpha1.PublishedResource) ([]*v1alpha1.PublishedResource, error) {
	list := &v1alpha1.PublishedResourceList{}
	if err := e.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrapf(errControlPlane, "cannot list PublishedResources: %v", err)
	}
	var others []*v1alpha1.PublishedResource
	for i := range list.Items {
		if other := &list.Items[i]; other.GetUID() != o.GetUID() && e.sharesExport(o, other) {
			others = append(others, other)
		}
	}
	return others, nil
}

// sharesExport reports whether another PublishedResource is known to publish to the same APIExport. It may use another
// ProviderConfig, or belong to another provider whose default ProviderConfig is unknown. Then the endpoints decide:
// their path contains the logical cluster and the name of the APIExport. Without endpoints there are no consumers who
// could miss a claim. The name of an APIExport is not enough, because every kcp may have one of that name.
func (e *external) sharesExport(o, other *v1alpha1.PublishedResource) bool {
	known := other.Spec.ProviderConfigReference != nil || e.selects(other)
	if known && e.publisher.Ref(other) == e.publisher.Ref(o) {
		p, err := planOf(&other.Spec, e.connection.Spec.KCP)
		return err == nil && (p.export == e.plan.export || other.Status.APIExport == e.plan.export)
	}
	if a, b := exportPaths(&o.Status), exportPaths(&other.Status); a.Len() > 0 && b.Len() > 0 {
		return a.HasAny(b.UnsortedList()...)
	}
	theirs := e.memories.held(other.GetName())
	return theirs.export == e.plan.export && theirs.server == e.cluster.Server()
}

// exportPaths returns the paths of the endpoints of a PublishedResource. Shards differ in the host only.
func exportPaths(s *v1alpha1.PublishedResourceStatus) sets.Set[string] {
	paths := sets.New[string]()
	for _, at := range s.Endpoints {
		if u, err := url.Parse(at.URL); err == nil && u.Path != "" {
			paths.Insert(u.Path)
		}
	}
	return paths
}

// keptBySiblings reports whether another PublishedResource needs a claim of the APIExport. A deleted one no longer
// needs it once its API is withdrawn.
func (e *external) keptBySiblings(ctx context.Context, o *v1alpha1.PublishedResource, d *kcp.Draft, c kcp.Claim) bool {
	others, err := e.siblings(ctx, o)
	return err != nil || slices.ContainsFunc(others, func(other *v1alpha1.PublishedResource) bool {
		if r, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && meta.WasDeleted(other) && d.Schema(r) == "" {
			return false
		}
		theirs, err := claimsOf(&other.Spec, e.plan.verbs)
		return err != nil || slices.ContainsFunc(theirs, func(x kcp.Claim) bool {
			return x.GroupResource == c.GroupResource && x.IdentityHash == c.IdentityHash
		})
	})
}
