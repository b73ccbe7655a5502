package reference

import (
	"github.com/pkg/errors"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A problem is why a reference keeps an Object from going on, with the reason of the condition that says so.
type problem struct {
	error

	reason xpv2.ConditionReason
}

// Unwrap returns the cause.
func (p problem) Unwrap() error { return p.error }

// waiting means that something on the control plane must happen first. The Object is woken when it has.
func waiting(format string, args ...any) error {
	return problem{errors.Errorf("waiting for "+format, args...), commonv1.ReasonWaitingForReference}
}

// invalid means that a reference cannot be resolved as it is written.
func invalid(format string, args ...any) error {
	return problem{errors.Errorf(format, args...), commonv1.ReasonInvalidReference}
}

// refused means that the control plane does not let us do what a reference needs.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return problem{err, xpv2.ReasonReconcileError}
}

// ReasonOf returns the reason of condition Synced for an error of this package, empty for any other.
func ReasonOf(err error) xpv2.ConditionReason {
	var p problem
	if errors.As(err, &p) {
		return p.reason
	}
	return ""
}

// IsAwaited reports whether an error ends with a change of the Object or of what it refers to. The Object is told
// about that change.
func IsAwaited(err error) bool {
	r := ReasonOf(err)
	return r != "" && r != xpv2.ReasonReconcileError
}
