package object

import (
	"context"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// A pass is what one reconcile learns beside what crossplane-runtime keeps. Nothing outlives it.
type pass struct {
	quiet   quiet.Pass
	err     error              // why the pass failed
	verdict *readiness.Verdict // of the resource as last seen
	applied bool               // the manifest was applied and the answer recorded
	retry   time.Duration      // when to look again, if earlier than the next poll
}

type passKey struct{}

func withPass(ctx context.Context, p *pass) context.Context {
	p.quiet.Amend = p.amend
	return quiet.WithPass(context.WithValue(ctx, passKey{}, p), &p.quiet)
}

func passOf(ctx context.Context) *pass {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok {
		return &pass{}
	}
	return p
}

// fail remembers why the pass fails.
func (p *pass) fail(err error) error {
	p.err = err
	return err
}

// amend sets the conditions that crossplane-runtime cannot know: whether the resource is ready, and the reason of a failure.
func (p *pass) amend(obj client.Object) {
	o, ok := obj.(Object)
	if !ok {
		return
	}
	synced := o.GetCondition(xpv2.TypeSynced)
	if r := reason(p.err); r != "" && synced.Reason == xpv2.ReasonReconcileError {
		synced.Reason = r
		o.SetConditions(synced)
		return
	}
	if p.verdict == nil || synced.Reason != xpv2.ReasonReconcileSuccess || o.GetDeletionTimestamp() != nil {
		return
	}
	ready := xpv2.Available()
	if !p.verdict.Ready {
		ready = xpv2.Unavailable().WithMessage(p.verdict.Message)
	}
	o.SetConditions(ready.WithObservedGeneration(o.GetGeneration()))
}

// reason returns the reason of condition Synced for an error, empty if there is no better one than ReconcileError.
func reason(err error) xpv2.ConditionReason {
	switch {
	case err == nil:
		return ""
	case target.IsUnreachable(err):
		return commonv1.ReasonTargetUnreachable
	case target.IsInvalidConnection(err), errors.Is(err, scope.ErrNoConfig):
		return commonv1.ReasonInvalidConnection
	case target.IsNoKind(err):
		return commonv1.ReasonUnknownKind
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return commonv1.ReasonForbidden
	case errors.Is(err, errInvalidManifest), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return commonv1.ReasonInvalidManifest
	}
	return ""
}

// isReady says whether an Object was last seen ready.
func isReady(o client.Object) bool {
	c, ok := o.(Object)
	return ok && c.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}
