package objectsync

import (
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// RelatedMax is how many related objects one object may refer to by one rule.
const RelatedMax = related.Max

// Causes of errors of rules for related objects, as package related has them.
var (
	ErrNoNamespace = related.ErrNoNamespace
	ErrUneven      = related.ErrUneven
	ErrTooMany     = related.ErrTooMany
	ErrInvalidName = related.ErrInvalidName
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
	rule       *related.Rule
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

// served returns a record in the versions in which its APIs are related by now. One of an API that is not any more
// stays as it is.
func (s *Syncer) served(r Record) Record {
	for _, x := range s.related {
		if x.relates(r) {
			r.From.Version, r.To.Version = x.origins().Version, x.copies().Version
		}
	}
	return r
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
	r.rule, err = related.New(spec, pair.Workspace.Scope, pair.Service.Scope)
	return r, err
}
