package collection

import (
	"cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

var (
	// errInvalidSelection is the cause of errors that only a change of spec.observeObjects can cure.
	errInvalidSelection = errors.New("spec.observeObjects is invalid")
	// errNameTaken is the cause of errors about Objects that are no members and have the names of members.
	errNameTaken = errors.New("make the collection under another name")
	// errLagging ends a reconcile that would repeat writes or give the name of a new member away.
	errLagging = apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "",
		errors.New("cache of members lacks what was just written"))
)

// A controlPlaneError is an error of the control plane, and not of the target.
type controlPlaneError struct{ error }

// Unwrap returns the cause.
func (e controlPlaneError) Unwrap() error { return e.error }

func isControlPlane(err error) bool { return errors.As(err, &controlPlaneError{}) }

// causes are those of collections. Their streams tell when what a target has denied is allowed.
var causes = []targetresource.Cause{
	{
		Is:     func(err error) bool { return isControlPlane(err) && apierrors.IsInvalid(err) },
		Reason: commonv1.ReasonInvalidTemplate, Woken: true,
	},
	{Is: isControlPlane},
	{Is: targetresource.By(errNameTaken), Reason: commonv1.ReasonNameTaken, Woken: true},
	{Is: targetresource.By(errInvalidSelection), Reason: commonv1.ReasonInvalidSelection, Woken: true},
	{Is: clusters.IsUnreachable, Reason: commonv1.ReasonTargetUnreachable, Woken: true},
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
