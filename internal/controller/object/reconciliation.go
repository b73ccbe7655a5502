package object

import (
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A reconciliation is what one reconcile of an Object learns beside what crossplane-runtime keeps. Nothing outlives it.
type reconciliation struct {
	managedadapter.Reconciliation

	err     error                    // why it failed
	verdict *readiness.Verdict       // of the resource as last seen, or of there being none
	synced  *xpv2.Condition          // what is reported if all went well but not far enough
	left    error                    // why a deleted Object leaves its resource
	remains string                   // what the resource of a deleted Object waits for, if it is not gone
	target  *targetresource.Resource // once connected; without a Manifest as long as that is not known
	object  Object                   // as its status is written at the end
	retry   time.Duration            // when to look again, if earlier than the next poll

	connection *connectionSecret // nil if its content is not known, or there is none

	references *reference.Resolution // nil before they are resolved
	held       bool                  // what they lead to has the finalizers it needs
	gone       bool                  // the target has said that it has deleted the resource of a deleted Object
	regrows    bool                  // others may have made the resource again that a deleted Object deletes
	// Which Object is being deleted, too, and must be gone before this one; nil if none.
	leaving error
}

type reconciliationKey struct{}

// reconciliationOf returns the reconciliation of a context. Our reconciler gives each context one.
func reconciliationOf(ctx context.Context) *reconciliation {
	return ctx.Value(reconciliationKey{}).(*reconciliation) //nolint:forcetypeassert // See above.
}

// objectOf returns what crossplane-runtime's reconciler hands over, which is of Objects, as an Object.
func objectOf(obj client.Object) Object { return obj.(Object) } //nolint:forcetypeassert // See above.

// copyOf returns a copy of an Object.
func copyOf(o client.Object) Object { return o.DeepCopyObject().(Object) } //nolint:forcetypeassert // It is one.

// fail remembers why the reconcile fails, and returns what is to be said of it.
func (r *reconciliation) fail(err error) error {
	last, seen := r.Last().(Object)
	if seen {
		err = targetresource.SuppressBriefOutage(err, last)
	}
	if r.Suppressed = targetresource.IsSuppressed(err); !r.Suppressed {
		err = brief(err)
		if seen && meta.WasDeleted(last) {
			err = waiting(err)
		}
	}
	r.err = err
	return err
}

// report makes condition Synced False although the reconcile goes well.
func (r *reconciliation) report(o Object, reason xpv2.ConditionReason, message string) {
	c := xpv2.ReconcileError(errors.New(message)).WithObservedGeneration(o.GetGeneration())
	c.Reason = reason
	r.synced = &c
}

// amend sets the conditions that crossplane-runtime cannot know: whether the resource is ready, and the reason of a
// failure.
func (r *reconciliation) amend(obj client.Object) {
	o := objectOf(obj)
	r.object = o
	if r.err != nil || r.synced != nil {
		lastReady(o)
	}
	if r.synced != nil && r.err == nil {
		o.SetConditions(*r.synced)
	}
	endPreview(o)
	synced := o.GetCondition(xpv2.TypeSynced)
	if why := causeOf(r.err).Reason; why != "" && synced.Reason == xpv2.ReasonReconcileError {
		synced.Reason = why
		if clusters.IsUnreachable(r.err) {
			synced.Message = r.err.Error() // crossplane-runtime adds what was tried.
		}
		if why == commonv1.ReasonNamespaceMissing {
			r.verdict = &readiness.Verdict{Message: messageNoNamespace}
		}
		o.SetConditions(targetresource.Explain(o, synced))
	}
	if d := o.GetCondition(xpv2.TypeReady); r.remains != "" && d.Reason == xpv2.ReasonDeleting {
		d.Message = r.remains
		o.SetConditions(d)
	}
	known := r.err == nil || clusters.IsNoKind(r.err) || synced.Reason == commonv1.ReasonNamespaceMissing
	if r.verdict == nil || !known || o.GetDeletionTimestamp() != nil {
		return
	}
	ready := xpv2.Available()
	if !r.verdict.Ready {
		ready = xpv2.Unavailable()
	}
	ready = ready.WithMessage(managedadapter.Clip(r.verdict.Message, messageBytes))
	o.SetConditions(ready.WithObservedGeneration(o.GetGeneration()))
}

// lastReady puts condition Ready behind the others: kubectl's columns are of the first condition that is False, and
// Synced says more than that an Object is being created. Nothing is written to Objects for that alone.
func lastReady(o Object) {
	if ready := o.GetCondition(xpv2.TypeReady); ready.Reason != "" {
		o.RemoveCondition(xpv2.TypeReady)
		o.SetConditions(ready)
	}
}

// causeOf returns what an error means to an Object.
func causeOf(err error) targetresource.Cause {
	if r := reference.ReasonOf(err); r != "" {
		return targetresource.Cause{Reason: r, Woken: reference.IsAwaited(err)}
	}
	return targetresource.CauseOf(err)
}

// isReady reports whether an Object was last seen ready.
func isReady(o client.Object) bool {
	return objectOf(o).GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}

// labelComposite is what Crossplane labels the resources of a composite with.
const labelComposite = "crossplane.io/composite"

// seed makes hashes of what resources contain, which are compared within the process only.
var seed = maphash.MakeSeed()

// postpones reports whether the status of an Object is to be written later, and has the Object reconciled again then. A
// reconcile that ends in waiting for something is not repeated soon: its status is urgent.
func (c *reconciler[T]) postpones(r *reconciliation, was, is Object) bool {
	if r.gone && r.err == nil {
		return true // The next write takes the finalizer off.
	}
	wait := c.writes.Wait(managedadapter.Change{
		Name:    client.ObjectKeyFromObject(is),
		Budget:  composite(is),
		Content: maphash.Bytes(seed, is.Observed().Manifest.Raw),
		Urgent:  causeOf(r.err).Woken || !onlySeen(was, is) || c.options.References.Reads(c.Kind.GVK, was, is),
		Passing: !isReady(is),
	})
	if wait > 0 && (r.retry == 0 || wait < r.retry) {
		r.retry = wait
	}
	return wait > 0
}

// composite returns the UID of the composite that an Object is a part of, of the Object itself if there is none.
func composite(o Object) types.UID {
	if by := metav1.GetControllerOf(o); by != nil && o.GetLabels()[labelComposite] != "" {
		return by.UID
	}
	return o.GetUID()
}

// onlySeen reports whether two states of an Object differ in no more than what the resource looks like, or why it is
// not ready or not gone. All else is needed at once: by who waits for a condition, or by our next reconcile, which
// knows what was applied and to what from nowhere else.
func onlySeen(was, is Object) bool {
	if !sameOne(was, is) {
		return false
	}
	like := copyOf(was)
	like.Observed().Manifest = is.Observed().Manifest
	had, has := was.GetCondition(xpv2.TypeReady), is.GetCondition(xpv2.TypeReady)
	synced := is.GetCondition(xpv2.TypeSynced)
	switch {
	case is.GetDeletionTimestamp() != nil:
		if has.Reason != xpv2.ReasonDeleting || synced.Status != corev1.ConditionTrue {
			return false
		}
		like.SetConditions(has, synced) // What it waits for may be gone before anybody reads that.
	case had.Status == has.Status && had.Reason == has.Reason && had.ObservedGeneration == has.ObservedGeneration:
		like.SetConditions(has)
	}
	return managedadapter.SameStatus(like, is)
}

// sameOne reports whether two states of an Object show the same resource, and both show it as one that stays or as one
// that goes.
func sameOne(was, is Object) bool {
	a, b := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	if decode(was.Observed().Manifest.Raw, a) != nil || decode(is.Observed().Manifest.Raw, b) != nil {
		return false
	}
	return a.TypeMeta == b.TypeMeta && a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// messageWaiting is what a deleted Object says that has to finish with a resource which it cannot reach.
const messageWaiting = "waiting for the target to delete or release the " +
	"resource; to keep the resource there, set spec.unreachableTarget: Orphan"

// releasesResource reports whether an Object is to do without a target that cannot be reached.
func releasesResource(o Object, err error) bool {
	return targetresource.MayOrphan(err) && o.Desired().UnreachableTarget == commonv1.UnreachableTargetOrphan
}

// orLeave returns the error of an Object that has to finish with a resource. It is nil if the Object is to do without a
// target that cannot be reached, and leaves its resource.
func (r *reconciliation) orLeave(o Object, err error) error {
	if releasesResource(o, err) {
		r.left, r.leaving = err, nil
		return nil
	}
	return err
}

// waiting says how an Object could do without a target that cannot be reached.
func waiting(err error) error {
	if !targetresource.IsCutOff(err) {
		return err
	}
	return errors.Wrap(err, messageWaiting)
}

// A briefError is an error about a target that does not answer, without what was tried: one retry comes further than
// another, and a condition that changes is a write.
type briefError struct {
	error

	message string
}

// Error says what the target does.
func (e briefError) Error() string { return e.message }

// Unwrap returns the whole error.
func (e briefError) Unwrap() error { return e.error }

// brief returns a briefError if an error is about a target that does not answer, and the error itself if not.
func brief(err error) error {
	said := clusters.UnreachableMessage(err)
	if said == "" || errors.As(err, &briefError{}) {
		return err
	}
	return briefError{error: err, message: said}
}

// isOutageEvent matches events about unreachable targets on Objects that have been synced before. The ProviderConfig
// has one event for all of them. What an Object leaves behind is told in any case. It also matches events about
// resources that have changed meanwhile.
func isOutageEvent(obj runtime.Object, e event.Event) bool {
	o, ok := obj.(Object)
	return ok && e.Type == event.TypeWarning && e.Reason != reasonLeft && targetresource.WasSynced(o) &&
		(strings.Contains(e.Message, clusters.ErrUnreachable.Error()) ||
			strings.Contains(e.Message, targetresource.ErrChanged.Error()))
}
