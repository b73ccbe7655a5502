package collection

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

var (
	// errInvalidSelection is the cause of errors that only a change of spec.observeObjects can cure.
	errInvalidSelection = errors.New("spec.observeObjects is invalid")
	// errNameTaken is the cause of errors about Objects that are no members and have the names of members.
	errNameTaken = errors.New("make the collection under another name")
)

// causes are those of collections. Their streams tell when what a target has denied is allowed.
var causes = []targetresource.Cause{
	{
		Is:     func(err error) bool { return targetresource.IsOfControlPlane(err) && apierrors.IsInvalid(err) },
		Reason: commonv1.ReasonInvalidTemplate, Woken: true,
	},
	{Is: targetresource.IsOfControlPlane},
	{Is: targetresource.By(errNameTaken), Reason: commonv1.ReasonNameTaken, Woken: true},
	{Is: targetresource.By(errInvalidSelection), Reason: commonv1.ReasonInvalidSelection, Woken: true},
	{Is: clusters.IsUnreachable, Reason: commonv1.ReasonTargetUnreachable, Woken: true},
	{Is: clusters.IsNoKind, Reason: commonv1.ReasonUnknownKind, Woken: true},
	{Is: apierrors.IsForbidden, Reason: commonv1.ReasonForbidden, Woken: true},
	{Is: apierrors.IsUnauthorized, Reason: commonv1.ReasonUnauthorized, Woken: true},
}

// conclude sets the conditions that follow from how a pass ended.
func conclude(c Collection, err error) {
	if err != nil {
		synced := xpv2.ReconcileError(err)
		synced.Reason = cmp.Or(targetresource.CauseOf(err, causes...).Reason, synced.Reason)
		setCondition(c, synced)
		return
	}
	setCondition(c, xpv2.ReconcileSuccess())
	setCondition(c, xpv2.Available())
}

func setCondition(c Collection, cond xpv2.Condition) {
	c.SetConditions(cond.WithObservedGeneration(c.GetGeneration()))
}

// Reasons of events.
const (
	reasonApplied       event.Reason = "AppliedMembers"
	reasonDeleted       event.Reason = "DeletedMembers"
	reasonCannotConnect event.Reason = "CannotConnectToTarget"
	reasonCannotSelect  event.Reason = "CannotSelectResources"
	reasonCannotCompare event.Reason = "CannotCompareMembers"
	reasonCannotApply   event.Reason = "CannotApplyMembers"
	reasonCannotDelete  event.Reason = "CannotDeleteMembers"
)

// namedMost is how many members an event names.
const namedMost = 3

// enumerate names the first of some members, and says how many there are beside.
func enumerate[T any](all []T, name func(T) string) string {
	var names []string
	for _, m := range all[:min(len(all), namedMost)] {
		names = append(names, name(m))
	}
	if len(all) > namedMost {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(all)-namedMost)
	}
	return strings.Join(names, ", ")
}
