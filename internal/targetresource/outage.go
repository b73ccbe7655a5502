package targetresource

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// A quietError is an error about a target that has not answered for a moment, of which an owner says nothing yet.
type quietError struct{ error }

// Unwrap returns the error.
func (e quietError) Unwrap() error { return e.error }

// Status makes the error a conflict in the eyes of reconcilers, which requeue conflicts silently.
func (e quietError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// Quiet returns an error that is requeued silently in place of one about a target that may be back before anybody has
// to know; IsQuiet recognizes it. Other errors are returned as they are, and so is each error of an owner that has said
// nothing so far: whoever has made it waits for a word. The owner is woken if the outage lasts, as one of a patient
// controller of the Registry.
func Quiet(err error, owner resource.Conditioned) error {
	if !target.IsBrief(err) || !WasSynced(owner) {
		return err
	}
	return quietError{error: err}
}

// IsQuiet reports whether an error is one that Quiet has made.
func IsQuiet(err error) bool {
	var q quietError
	return errors.As(err, &q)
}

// WasSynced reports whether an owner has ever said whether it is synced.
func WasSynced(o resource.Conditioned) bool {
	return o.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionUnknown
}

// Leaves reports whether an owner whose spec.unreachableTarget says Orphan does without a target that cannot be
// reached, as an error says. A target that may be back in a moment is waited for: what is left on it is left for good.
func Leaves(err error) bool { return IsCutOff(err) && !target.IsBrief(err) }
