package object

import (
	"bytes"
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// others returns the Objects beside one, of all kinds. They are shared and must not be changed.
func (o Options) others(ctx context.Context, than Object, l ...client.ListOption) ([]Object, error) {
	all, err := o.List(ctx, l...)
	if err != nil {
		return nil, err
	}
	var found []Object
	for _, obj := range all {
		if obj.GetUID() != than.GetUID() {
			found = append(found, objectOf(obj))
		}
	}
	return found, nil
}

// mayApply reports whether an Object may apply its manifest, or might before it was paused.
func mayApply(o Object) bool {
	p := o.GetManagementPolicies()
	return len(p) == 0 || policy.Allows(p, xpv2.ManagementActionUpdate)
}

// claim finds the field manager of an Object on its resource. API servers know managers by their names only: of Objects
// of one name that meet on a resource all but one have the namespace in their manager, or each would take the fields of
// the other away. The plain manager belongs to the one whose status says that it has applied the resource with it. If
// there is none, it belongs to the one whose status says that it has seen the resource. Among several it belongs to the
// oldest.
func (e *remote) claim(ctx context.Context, o Object) error {
	alone, err := e.alone(ctx, o)
	if e.manager = ownFieldManager(o); alone {
		e.manager = fieldManager(o)
	}
	return errors.Wrap(err, "cannot find the field manager")
}

// alone reports whether nobody else has the manager of an Object's name on its resource.
func (e *remote) alone(ctx context.Context, o Object) (bool, error) {
	applied, seen := o.Observed().Applied, e.isAt(o) && (e.live == nil || identity(o).GetUID() == e.live.GetUID())
	if applied != nil && seen && applied.FieldManager == ownFieldManager(o) {
		return false, nil
	}
	namesakes, err := e.options.others(ctx, o, client.MatchingFields{reference.IndexName: o.GetName()})
	if err != nil {
		return false, err
	}
	namesakes = slices.DeleteFunc(namesakes, func(n Object) bool { return !mayApply(n) })
	if e.live == nil && slices.ContainsFunc(namesakes, e.isAt) {
		// The watch does not show a resource that lacks our label, which it does until we have applied it once.
		if e.live, err = e.Ask(ctx); err != nil {
			return false, err
		}
	}
	return e.live == nil || !slices.ContainsFunc(namesakes, func(n Object) bool {
		return precedes(n, o, e.live.GetUID())
	}), nil
}

// isAt reports whether an Object has last seen a resource of the name and kind of the manifest, on whatever server.
func (e *remote) isAt(o Object) bool {
	id := identity(o)
	return id != nil && sameResource(id, e.Manifest)
}

// precedes reports whether an Object has the field manager of its name on a resource before another of that name has
// it.
func precedes(a, b Object, uid types.UID) bool {
	ra, rb := rank(a, uid), rank(b, uid)
	if ra != rb || ra == 0 {
		return ra > rb
	}
	ta, tb := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !ta.Equal(&tb) {
		return ta.Before(&tb)
	}
	return a.GetUID() < b.GetUID()
}

// rank returns 2 if an Object has applied a resource with the manager of its name, 1 if it may have before it came to
// us, 0 if not.
func rank(o Object, uid types.UID) int {
	applied := o.Observed().Applied
	switch {
	case !hasSeen(o, uid), applied != nil && applied.FieldManager != "":
		return 0
	case applied == nil:
		return 1
	}
	return 2
}

// hasSeen reports whether the resource that an Object last saw has a UID.
func hasSeen(o Object, uid types.UID) bool {
	raw := o.Observed().Manifest.Raw
	return bytes.Contains(raw, []byte(uid)) && seenUID(o) == uid // A search costs less than to decode it.
}

// isAdopted reports whether there is an Object to which an Object that ends leaves its live resource. If not it is to
// delete it: there is no other, or it does not share. What a status shows may come from any server, also that of
// another tenant: an Object counts that has the same ProviderConfig, or fields on the resource. Of Objects that are
// deleted at once the last to be looked at sees that all others are, too, as one cache shows all of them.
func (e *remote) isAdopted(ctx context.Context, o Object) (bool, error) {
	if o.Desired().SharedResource != xpv2.DeletionOrphan {
		return false, nil
	}
	others, err := e.options.others(ctx, o)
	for _, other := range others {
		if !meta.WasDeleted(other) && !dryRun(other) && hasSeen(other, e.live.GetUID()) &&
			policy.OfDeleted(other.GetManagementPolicies(), orphans(other)) == policy.Delete &&
			(scope.Holder(other) == scope.Holder(o) || e.hasFields(other)) {
			return true, nil
		}
	}
	return false, errors.Wrap(err, "cannot find the Objects that share the resource")
}

// hasFields reports whether the live resource has fields of another Object.
func (e *remote) hasFields(other Object) bool {
	plain := fieldManager(other)
	return plain != e.manager && apply.Manages(e.live, plain) || apply.Manages(e.live, ownFieldManager(other))
}

// transferOwnership leaves the resource of an Object to another, without the fields that only the former has applied,
// and reports whether there is another.
func (e deletion) transferOwnership(ctx context.Context, o Object) (bool, error) {
	there, err := e.last(ctx, o)
	if err != nil || !there {
		return false, err
	}
	adopted, err := e.isAdopted(ctx, o)
	if err != nil || !adopted {
		return false, err
	}
	return true, e.withdraw(ctx, o)
}
