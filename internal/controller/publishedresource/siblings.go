package publishedresource

import (
	"context"
	"net/url"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// Siblings are the PublishedResources that publish to the same APIExport.
type siblings struct {
	local     client.Client
	publisher *scope.Publisher
	selects   func(client.Object) bool // reports whether a PublishedResource is this provider's
	memories  *memories
}

// of returns the other PublishedResources that are known to publish to the same APIExport. The objects are shared with
// the cache.
func (s *siblings) of(ctx context.Context, p *pass) ([]*v1alpha1.PublishedResource, error) {
	list := &v1alpha1.PublishedResourceList{}
	if err := s.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrapf(errControlPlane, "cannot list PublishedResources: %v", err)
	}
	var others []*v1alpha1.PublishedResource
	for i := range list.Items {
		if other := &list.Items[i]; other.GetUID() != p.resource.GetUID() && s.shareExport(p, other) {
			others = append(others, other)
		}
	}
	return others, nil
}

// shareExport reports whether another PublishedResource is known to publish to the same APIExport. It may use another
// ProviderConfig, or belong to another provider whose default ProviderConfig is unknown. Then the endpoints decide:
// their path contains the logical cluster and the name of the APIExport. Without endpoints there are no consumers who
// could miss a claim. The name of an APIExport is not enough, because every kcp may have one of that name.
func (s *siblings) shareExport(p *pass, other *v1alpha1.PublishedResource) bool {
	w, known := p.workspace, other.Spec.ProviderConfigReference != nil || s.selects(other)
	if known && s.publisher.Ref(other) == s.publisher.Ref(p.resource) {
		theirs, err := planOf(&other.Spec, w.connection.Spec.KCP)
		return err == nil && (theirs.export == w.plan.export || other.Status.APIExport == w.plan.export)
	}
	if a, b := exportPaths(&p.resource.Status), exportPaths(&other.Status); a.Len() > 0 && b.Len() > 0 {
		return a.HasAny(b.UnsortedList()...)
	}
	theirs := s.memories.held(other.GetName())
	return theirs.export == w.plan.export && theirs.server == w.cluster.Server()
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

// need reports whether another PublishedResource needs a claim of the APIExport. A deleted one no longer needs it once
// its API is withdrawn.
func (s *siblings) need(ctx context.Context, p *pass, d *kcp.Draft, c kcp.Claim) bool {
	others, err := s.of(ctx, p)
	return err != nil || slices.ContainsFunc(others, func(other *v1alpha1.PublishedResource) bool {
		if r, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && meta.WasDeleted(other) && d.Schema(r) == "" {
			return false
		}
		theirs, err := claimsOf(&other.Spec, p.workspace.plan.verbs)
		return err != nil || slices.ContainsFunc(theirs, func(x kcp.Claim) bool {
			return x.GroupResource == c.GroupResource && x.IdentityHash == c.IdentityHash
		})
	})
}

// admit returns an error if another PublishedResource offers the resource in the same APIExport.
func (s *siblings) admit(ctx context.Context, p *pass, r schema.GroupResource) error {
	export, name := p.workspace.plan.export, p.resource.GetName()
	holder := ""
	if published, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName); !ok || published != r {
		others, err := s.of(ctx, p)
		if err != nil {
			return err
		}
		for _, other := range others {
			if theirs, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && theirs == r {
				holder = other.GetName()
			}
		}
	}
	if holder == "" {
		holder = s.memories.claim(exportedResource{p.workspace.cluster.Server(), export, r}, name)
	}
	if holder != name {
		return errors.Wrapf(errTaken, "APIExport %q has %s of PublishedResource %q", export, r, holder)
	}
	return nil
}
