package targetresource

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// A suppressedError is an error about a target that has been unreachable for less than 10 s. Owners do not report it.
type suppressedError struct{ error }

// Unwrap returns the error.
func (e suppressedError) Unwrap() error { return e.error }

// Status makes the error a conflict in the eyes of reconcilers, which requeue conflicts silently.
func (e suppressedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// SuppressBriefOutage returns an error that is requeued silently if the given one is about a target that has been
// unreachable for less than 10 s; IsSuppressed recognizes it. Other errors are returned unchanged. So is each error of
// an owner without condition Synced, because its user waits for a first report. An owner of a patient controller of the
// Registry is woken if the outage lasts.
func SuppressBriefOutage(err error, owner resource.Conditioned) error {
	if !target.IsBrief(err) || !WasSynced(owner) {
		return err
	}
	return suppressedError{error: err}
}

// IsSuppressed reports whether SuppressBriefOutage created an error.
func IsSuppressed(err error) bool {
	var s suppressedError
	return errors.As(err, &s)
}

// WasSynced reports whether an owner has ever said whether it is synced.
func WasSynced(o resource.Conditioned) bool {
	return o.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionUnknown
}

// MayOrphan reports whether an owner with spec.unreachableTarget: Orphan may leave its resources behind because of an
// error: the target is unreachable, and has been for 10 s. A shorter outage is waited for, because resources that are
// left behind are never deleted.
func MayOrphan(err error) bool { return IsCutOff(err) && !target.IsBrief(err) }
