package objectsync

import (
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// A copyRule says how objects of one API are copied: of a related resource or, without an identifier and a rule for
// names, of the published API itself.
type copyRule struct {
	Pair

	identifier string
	origin     v1alpha1.Origin
	cleanup    bool
	syncStatus bool
	mutations  *mutation.Mutations
	platform   platformFields
	names      *related.Rule
}

func newCopyRule(spec *v1alpha1.RelatedResource, pair Pair) (*copyRule, error) {
	r := &copyRule{
		Pair: pair, identifier: spec.Name(), origin: spec.Origin, cleanup: spec.Cleanup, syncStatus: spec.SyncStatus,
		platform: newPlatformFields(pair.PlatformFields),
	}
	var err error
	if r.mutations, err = mutation.New(spec.Mutation); err != nil {
		return nil, err
	}
	r.names, err = related.New(spec, pair.Workspace.Scope, pair.Service.Scope)
	return r, err
}

// origins returns the API at the origin, and copies that of the copies.
func (r *copyRule) origins() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.Service
	}
	return r.Workspace
}

func (r *copyRule) copies() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.Workspace
	}
	return r.Service
}

// relates reports whether a record may be of this related resource, as far as the APIs tell.
func (r *copyRule) relates(x Record) bool {
	return r.origin == x.Origin && r.origins().GroupResource() == x.From.GVR().GroupResource() &&
		r.copies().GroupResource() == x.To.GVR().GroupResource()
}
