package collection

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

var (
	// errInvalidSelection is the cause of errors that only a change of spec.observeObjects can cure.
	errInvalidSelection = errors.New("spec.observeObjects is invalid")
	// errNameTaken is the cause of errors about Objects that are no members and have the names of members.
	errNameTaken = errors.New("name of a member is taken")
	// errLagging ends a reconcile that would repeat writes or give the name of a new member away.
	errLagging = apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "",
		errors.New("cache of members lacks what was just written"))
)

// A controlPlaneError is an error of the control plane, and not of the target.
type controlPlaneError struct{ error }

// Unwrap returns the cause.
func (e controlPlaneError) Unwrap() error { return e.error }

// isWoken reports whether a collection is woken when the cause of an error goes, so that it need not be tried again
// before. That is so for all causes that have a reason of their own.
func isWoken(err error) bool {
	return err != nil && reason(err) != xpv2.ReasonReconcileError
}

// reason returns the reason of condition Synced for an error.
func reason(err error) xpv2.ConditionReason {
	var local controlPlaneError
	switch {
	case errors.As(err, &local) && apierrors.IsInvalid(err):
		return commonv1.ReasonInvalidTemplate
	case errors.As(err, &local):
		return xpv2.ReasonReconcileError
	case errors.Is(err, errNameTaken):
		return commonv1.ReasonNameTaken
	case errors.Is(err, errInvalidSelection):
		return commonv1.ReasonInvalidSelection
	}
	// A collection has no manifest.
	if r := targetresource.ReasonOf(err); r != "" && r != commonv1.ReasonInvalidManifest {
		return r
	}
	return xpv2.ReasonReconcileError
}

// conclude sets the conditions that follow from how a pass ended.
func conclude(c Collection, err error) {
	if err != nil {
		synced := xpv2.ReconcileError(err)
		synced.Reason = reason(err)
		setCondition(c, synced)
		return
	}
	setCondition(c, xpv2.ReconcileSuccess())
	setCondition(c, xpv2.Available())
}

func setCondition(c Collection, cond xpv2.Condition) {
	c.SetConditions(cond.WithObservedGeneration(c.GetGeneration()))
}
