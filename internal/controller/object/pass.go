package object

import (
	"cmp"
	"context"
	"hash/maphash"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diffwrite"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A pass is what one reconcile learns beside what crossplane-runtime keeps. Nothing outlives it.
type pass struct {
	quiet   diffwrite.Pass
	err     error                      // why the pass failed
	reason  xpv2.ConditionReason       // of the failure, empty if there is no better one than ReconcileError
	woken   bool                       // the Object is woken when the cause of the failure goes
	verdict *readiness.Verdict         // of the resource as last seen, or of there being none
	synced  *xpv2.Condition            // what is reported of a pass that went well but not far enough
	left    error                      // why a deleted Object leaves its resource
	remains string                     // what the resource of a deleted Object waits for, if it is not gone
	cluster *target.Cluster            // once connected
	wanted  *unstructured.Unstructured // the manifest, once it is known
	object  Object                     // as its status is written at the end
	details *details                   // for the connection secret, nil if they are not known or there is no secret
	retry   time.Duration              // when to look again, if earlier than the next poll

	coalesce *coalescing // nil if each change of the status is written at once

	references *reference.Resolution // nil before they are resolved
	held       bool                  // what they lead to has the finalizers it needs
	regrows    bool                  // others may have made the resource again that a deleted Object deletes
	// Which Object is being deleted, too, and must be gone before this one; nil if none.
	leaving error
}

type passKey struct{}

func withPass(ctx context.Context, p *pass) context.Context {
	p.quiet.Amend, p.quiet.Shrink, p.quiet.Postpone = p.amend, shrink, p.postpone
	return diffwrite.WithPass(context.WithValue(ctx, passKey{}, p), &p.quiet)
}

func passOf(ctx context.Context) *pass {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok {
		return &pass{}
	}
	return p
}

// fail remembers why the pass fails, and the reason if the error comes from the target. It returns what is to be said
// of it.
func (p *pass) fail(err error) error {
	if suppressed := p.suppressed(err); targetresource.IsSuppressed(suppressed) {
		p.err, p.reason = suppressed, ""
		return suppressed
	}
	err = brief(err)
	p.err, p.reason = err, reason(err)
	return err
}

// report makes condition Synced False although the pass goes well.
func (p *pass) report(o Object, r xpv2.ConditionReason, message string) {
	c := xpv2.ReconcileError(errors.New(message)).WithObservedGeneration(o.GetGeneration())
	c.Reason = r
	p.synced = &c
}

// amend sets the conditions that crossplane-runtime cannot know: whether the resource is ready, and the reason of a
// failure.
func (p *pass) amend(obj client.Object) {
	o, ok := obj.(Object)
	if !ok {
		return
	}
	p.object = o
	if targetresource.IsSuppressed(p.err) {
		p.keepConditions(o)
		return
	}
	if p.synced != nil && p.err == nil {
		p.set(o, *p.synced)
	}
	endPreview(o)
	synced := o.GetCondition(xpv2.TypeSynced)
	if p.reason != "" && synced.Reason == xpv2.ReasonReconcileError {
		synced.Reason = p.reason
		synced.Message = cmp.Or(unreachableMessage(o, p.err), synced.Message)
		p.set(o, synced)
	}
	p.explainDeletion(o)
	if p.verdict == nil || p.err != nil && !target.IsNoKind(p.err) || o.GetDeletionTimestamp() != nil {
		return
	}
	ready := xpv2.Available()
	if !p.verdict.Ready {
		ready = xpv2.Unavailable().WithMessage(p.verdict.Message)
	}
	p.set(o, ready.WithObservedGeneration(o.GetGeneration()))
}

// set sets a condition.
func (p *pass) set(o Object, c xpv2.Condition) { o.SetConditions(p.quiet.Timed(c)) }

// reason returns the reason of condition Synced for an error, empty if there is no better one than ReconcileError.
func reason(err error) xpv2.ConditionReason {
	if r := reference.ReasonOf(err); r != "" {
		return r
	}
	switch {
	case errors.Is(err, errControlPlane):
		return ""
	case errors.Is(err, errDependents):
		return commonv1.ReasonWaitingForDependents
	case errors.Is(err, errInvalidManifest):
		return commonv1.ReasonInvalidManifest
	}
	return targetresource.ReasonOf(err)
}

// isReady reports whether an Object was last seen ready.
func isReady(o client.Object) bool {
	c, ok := o.(Object)
	return ok && c.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}

// labelComposite is what Crossplane labels the resources of a composite with.
const labelComposite = "crossplane.io/composite"

// seed makes hashes of what resources contain, which are compared within the process only.
var seed = maphash.MakeSeed()

// coalescing decides which changes of the status of Objects of one kind wait.
type coalescing struct {
	writes     *diffwrite.Coalescer
	references *reference.Resolver
	gvk        schema.GroupVersionKind
}

// postpone reports whether the status of an Object is to be written later, and has the Object looked at again then.
func (p *pass) postpone(was, is client.Object) bool {
	before, ok := was.(Object)
	now, also := is.(Object)
	if !ok || !also || p.coalesce == nil {
		return false
	}
	wait := p.coalesce.wait(before, now, p.woken)
	if wait > 0 && (p.retry == 0 || wait < p.retry) {
		p.retry = wait
	}
	return wait > 0
}

// wait returns how long the write of a status waits. A pass that ends in waiting for something is not repeated soon:
// its status is urgent.
func (c *coalescing) wait(was, is Object, awaits bool) time.Duration {
	return c.writes.Wait(diffwrite.Change{
		Name:    client.ObjectKeyFromObject(is),
		Budget:  composite(is),
		Content: maphash.Bytes(seed, is.Observed().Manifest.Raw),
		Urgent:  awaits || !onlySeen(was, is) || c.references.Reads(c.gvk, was, is),
		Passing: !isReady(is),
	})
}

// composite returns the UID of the composite that an Object is a part of, of the Object itself if there is none.
func composite(o Object) types.UID {
	if by := metav1.GetControllerOf(o); by != nil && o.GetLabels()[labelComposite] != "" {
		return by.UID
	}
	return o.GetUID()
}

// onlySeen reports whether two states of an Object differ in no more than what the resource looks like, or why it is
// not ready. All else is needed at once: by who waits for a condition, or by our next pass, which knows what was
// applied and to what from nowhere else.
func onlySeen(was, is Object) bool {
	if is.GetDeletionTimestamp() != nil || !sameOne(was, is) {
		return false
	}
	like, ok := was.DeepCopyObject().(Object)
	if !ok {
		return false
	}
	like.Observed().Manifest = is.Observed().Manifest
	had, has := was.GetCondition(xpv2.TypeReady), is.GetCondition(xpv2.TypeReady)
	if had.Status == has.Status && had.Reason == has.Reason && had.ObservedGeneration == has.ObservedGeneration {
		like.SetConditions(has)
	}
	return diffwrite.SameStatus(like, is)
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
