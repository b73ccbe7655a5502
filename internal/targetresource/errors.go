package targetresource

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// refusedError is the answer of a target that does not accept the credentials.
type refusedError struct{ error }

// Unwrap returns the answer.
func (e refusedError) Unwrap() error { return e.error }

// A controlPlaneError is an error of the control plane, and not of a target.
type controlPlaneError struct{ error }

// Unwrap returns the cause.
func (e controlPlaneError) Unwrap() error { return e.error }

// An awaitedError is an error whose owner is woken when its cause goes.
type awaitedError struct{ error }

// Unwrap returns the cause.
func (e awaitedError) Unwrap() error { return e.error }

// Awaited marks an error, nil for nil, as one whose owner is woken when its cause goes, whatever it is.
func Awaited(err error) error {
	if err == nil {
		return nil
	}
	return awaitedError{err}
}

// OfControlPlane marks an error as one of the control plane, of which CauseOf would say that a target gives it.
func OfControlPlane(err error) error { return controlPlaneError{err} }

// ErrControlPlane is the cause of errors of the control plane whose answer is not to be taken for anything.
var ErrControlPlane = errors.New("the control plane rejects the request")

// answer marks an answer of a target. The control plane may answer likewise, which tells nothing about the target.
func answer(err error) error {
	if apierrors.IsUnauthorized(err) {
		return refusedError{err}
	}
	return err
}

// IsCutOff reports whether an error means that a target cannot be reached: its connection cannot or must not be made,
// it does not answer, or it does not accept the credentials.
func IsCutOff(err error) bool {
	var refused refusedError
	return clusters.IsUnreachable(err) || clusters.IsInvalidConnection(err) || clusters.IsNamespaceNotAllowed(err) ||
		errors.Is(err, scope.ErrNoConfig) || errors.As(err, &refused)
}

// errLeaving is the cause of errors about resources that are being deleted.
var errLeaving = Because(commonv1.ReasonWaitingForDeletion, "the provider applies the manifest after the deletion")

// Leaving returns an error about a resource that is being deleted, to which nothing is to be applied, nil if it is not.
func Leaving(live *unstructured.Unstructured) error {
	if live == nil || live.GetDeletionTimestamp() == nil {
		return nil
	}
	name := cache.MetaObjectToName(live)
	what := live.GetKind() + " " + name.String() + " is being deleted; "
	return errors.Wrap(errLeaving, strings.TrimSuffix(what+readiness.DeletionBlockers(live), "; "))
}

// A Cause is what errors of one kind mean to an owner.
type Cause struct {
	// Reason of condition Synced, empty if there is no better one than ReconcileError.
	Reason xpv2.ConditionReason
	// Woken reports whether the owner is woken when the cause goes, so that nothing has to be tried before.
	Woken bool
}

// causes are what errors mean, the first that one is decides. A request may fail of itself although its target answers,
// so that nobody wakes the owner.
var causes = []struct {
	Cause

	is func(error) bool
}{
	{Cause{commonv1.ReasonFinalizerContested, true}, by(managedadapter.ErrFinalizerContested)}, // It rests; nobody tells.
	{Cause{}, by(ErrControlPlane)},
	{Cause{}, func(err error) bool { return errors.As(err, &controlPlaneError{}) }},
	{Cause{commonv1.ReasonTargetUnreachable, false}, clusters.IsUnreachable},
	{Cause{commonv1.ReasonNamespaceNotAllowed, true}, clusters.IsNamespaceNotAllowed},
	{Cause{commonv1.ReasonInvalidConnection, true}, clusters.IsInvalidConnection},
	{Cause{commonv1.ReasonInvalidConnection, true}, by(scope.ErrNoConfig)},
	{Cause{commonv1.ReasonUnknownKind, false}, clusters.IsNoKind},
	{Cause{commonv1.ReasonNamespaceTerminating, false}, func(err error) bool {
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	}},
	{Cause{commonv1.ReasonUnknownKind, false}, apply.IsKindTerminating},
	{Cause{commonv1.ReasonQuotaExceeded, false}, apply.IsQuotaExceeded},
	{Cause{commonv1.ReasonForbidden, false}, apierrors.IsForbidden},
	{Cause{commonv1.ReasonUnauthorized, false}, apierrors.IsUnauthorized},
	{Cause{commonv1.ReasonNamespaceMissing, false}, isNamespaceMissing},
	{Cause{commonv1.ReasonInvalidManifest, false}, IsSchemaError},
	{Cause{commonv1.ReasonInvalidManifest, false}, apierrors.IsInvalid},
	{Cause{commonv1.ReasonInvalidManifest, false}, apierrors.IsBadRequest},
}

// by returns what reports whether an error is caused by another one.
func by(cause error) func(error) bool {
	return func(err error) bool { return errors.Is(err, cause) }
}

// A statedError says itself what it means.
type statedError struct {
	Cause

	text string
}

// Error returns the text.
func (e *statedError) Error() string { return e.text }

// Because returns the cause of errors with a reason, of which nothing has to be tried before the owner is woken. The
// text says what cures them.
func Because(r xpv2.ConditionReason, text string) error {
	return &statedError{Cause: Cause{Reason: r, Woken: true}, text: text}
}

// CauseOf returns what an error means: what it says itself, or the first cause that it has. It is zero for any other
// error.
func CauseOf(err error) Cause {
	var stated *statedError
	if errors.As(err, &stated) {
		return stated.Cause
	}
	for _, c := range causes {
		if err != nil && c.is(err) {
			c.Woken = c.Woken || errors.As(err, &awaitedError{})
			return c.Cause
		}
	}
	return Cause{}
}

// Synced returns condition Synced of an owner after a pass that has ended with an error, or without.
func Synced(o client.Object, err error) xpv2.Condition {
	if err == nil {
		return xpv2.ReconcileSuccess()
	}
	c := xpv2.ReconcileError(err)
	c.Reason = cmp.Or(CauseOf(err).Reason, c.Reason)
	return Explain(o, c)
}

// Explain puts before a message about a target that cannot be reached the ProviderConfig of the owner, where the user
// corrects that. Events say the message alone.
func Explain(o client.Object, c xpv2.Condition) xpv2.Condition {
	ref := scope.RefOf(o)
	if ref.Name == "" {
		return c
	}
	config := fmt.Sprintf("%s %q", ref.Kind, ref.Name)
	switch c.Reason { //nolint:exhaustive // Of others the ProviderConfig is not the cause.
	case commonv1.ReasonTargetUnreachable:
		c.Message = config + ": " + c.Message
	case commonv1.ReasonUnauthorized:
		c.Message = "target refuses the credentials of " + config + ": renew the Secret, or other source, that it names: " +
			c.Message
	}
	return c
}

// Next returns when to look again after a pass that has ended with an error, or without: soon if that could help, and
// then at the latest after a time if that is not zero.
func Next(p managedadapter.Poll, err error, soon time.Duration) (reconcile.Result, error) {
	switch {
	case CauseOf(err).Woken:
		return reconcile.Result{RequeueAfter: p.Waiting()}, nil
	case err != nil:
		return reconcile.Result{}, err
	case soon > 0:
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{RequeueAfter: p.Settled()}, nil
}

// isNamespaceMissing reports whether a target has refused to write a resource because the namespace of the resource
// does not exist.
func isNamespaceMissing(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	d := answer.Status().Details
	return d != nil && d.Group == "" && d.Kind == "namespaces"
}

// IsSchemaError reports whether a target has found that a manifest does not fit the schema of its kind. Server-side
// apply reports that as an internal error.
func IsSchemaError(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to create typed patch object")
}

// ErrChanged is the cause of errors about resources that have changed since they were seen, so that nothing is written.
var ErrChanged = errors.New("the resource has changed since the provider read it")

// A suppressedError is an error about a target that has been unreachable for less than 10 s, or about a resource that
// has changed. Owners do not report it.
type suppressedError struct{ error }

// Unwrap returns the error.
func (e suppressedError) Unwrap() error { return e.error }

// Status makes the error a conflict in the eyes of reconcilers, which requeue conflicts silently.
func (e suppressedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// SuppressBriefOutage returns an error that is requeued silently if the given one is about a target that has been
// unreachable for less than 10 s, or is caused by ErrChanged; IsSuppressed recognizes it. Other errors are returned
// unchanged. So is each error of an owner without condition Synced, because its user waits for a first report. The
// Registry wakes owners if the outage lasts.
func SuppressBriefOutage(err error, owner resource.Conditioned) error {
	if !clusters.IsBrief(err) && !errors.Is(err, ErrChanged) || !WasSynced(owner) {
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
func MayOrphan(err error) bool { return IsCutOff(err) && !clusters.IsBrief(err) }
