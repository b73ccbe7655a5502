package object

import (
	"cmp"
	"context"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
