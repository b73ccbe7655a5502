package object

import (
	"bytes"
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// reasonLeftShared is the reason of events about resources that an Object leaves to another.
const reasonLeftShared event.Reason = "LeftSharedResource"

// adopter returns the Object to which an Object that ends leaves its resource. If none is found it is to delete it:
// there is no other, or it does not share. Of Objects that are deleted at once the last to be looked at sees that all
// others are, too, as one cache shows all of them.
func (e *external) adopter(ctx context.Context, o Object) (to Object, found bool, err error) {
	seen := identity(o)
	if seen == nil || o.Desired().SharedResource != commonv1.SharedResourceKeep {
		return nil, false, nil
	}
	others, err := e.options.Claims.others(ctx, o)
	if err != nil {
		return nil, false, errors.Wrap(err, "cannot find out who shares the resource")
	}
	uid := seen.GetUID()
	for _, other := range others {
		if meta.WasDeleted(other) || dryRun(other) ||
			policy.OfDeleted(other.GetManagementPolicies(), orphans(other)) != policy.Delete {
			continue
		}
		if !bytes.Contains(other.Observed().Manifest.Raw, []byte(uid)) { // It costs less than to decode it.
			continue
		}
		if id := identity(other); id != nil && id.GetUID() == uid {
			return other, true, nil
		}
	}
	return nil, false, nil
}

// transferOwnership leaves the resource of an Object to another, without the fields that only the former has applied.
func (e *external) transferOwnership(ctx context.Context, o, to Object) error {
	err := e.release(ctx, o)
	if releasesResource(o, err) {
		e.pass.left = err
		return nil
	}
	if err == nil {
		e.events.Event(o, event.Normal(reasonLeftShared, "The resource is left to Object "+to.GetName()))
	}
	return waiting(err)
}
