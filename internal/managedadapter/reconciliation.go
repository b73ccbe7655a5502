package managedadapter

import (
	"context"
	"math/rand/v2"
	"time"

	xperrors "github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// waitMost is how soon something is reconciled again that waits for what will wake it, if the poll interval is
	// longer.
	waitMost = 30 * time.Second
	// lostAfter is when an object is reconciled again whose cache never shows our last write, after a restore.
	lostAfter = 10 * time.Minute
)

// A Reconciliation is one reconcile of one object. The functions say what a reconciler of crossplane-runtime cannot;
// each may be nil.
type Reconciliation struct {
	// Amend changes the status of the object before it is compared and written.
	Amend func(client.Object)
	// Shrink drops from the status of an object that is too large what it can do without, and reports whether there was
	// anything.
	Shrink func(client.Object) bool
	// Postpone reports whether a status that differs from the last one is to be written later. The caller reconciles
	// the object again.
	Postpone func(was, is client.Object) bool
	// Publish takes the place of crossplane-runtime's publisher of connection secrets, which asks for the secret each
	// time and never takes a key away. The reconciler has no option for that. The publisher applies by Get, and Create
	// if there is nothing: so Get finds no Secret, and Publish is given each that should be.
	Publish func(context.Context, *corev1.Secret) error

	// Suppressed has no status written.
	Suppressed bool
	// Unsaved is set if the status could not be written. crossplane-runtime is silent if the cause is a conflict.
	Unsaved bool
	// Gone is set if the object no longer exists.
	Gone bool
	// Stale is set if the cache was behind our last write, and nothing was done.
	Stale bool

	last   client.Object // the object as the server last gave it
	behind func() bool   // the cache has yet to show what we have written; nil if that is nothing
}

type reconciliationKey struct{}

// With returns a context that carries a Reconciliation.
func With(ctx context.Context, r *Reconciliation) context.Context {
	return context.WithValue(ctx, reconciliationKey{}, r)
}

// of returns the Reconciliation of a context. Without one nothing is compared.
func of(ctx context.Context) *Reconciliation {
	if r, ok := ctx.Value(reconciliationKey{}).(*Reconciliation); ok {
		return r
	}
	return &Reconciliation{}
}

// Last returns the object as the server last gave it, nil if it has not.
func (r *Reconciliation) Last() client.Object { return r.last }

// see remembers what the server has said about the object.
func (r *Reconciliation) see(obj client.Object) {
	r.last = obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
}

// isCurrent reports whether an object is the reconciled one, in the version the server last gave.
func (r *Reconciliation) isCurrent(obj client.Object) bool {
	return r.last != nil && r.last.GetUID() == obj.GetUID() && r.last.GetResourceVersion() == obj.GetResourceVersion()
}

// Run has a reconciler reconcile the object, and requeues conflicts silently. As long as the cache has yet to show our
// last write, there is no other reconcile.
func (r *Reconciliation) Run(ctx context.Context, req reconcile.Request,
	next reconcile.Reconciler,
) (reconcile.Result, error) {
	res, err := next.Reconcile(With(ctx, r), req)
	if r.last == nil && isUnreadable(err) {
		return reconcile.Result{}, nil // The object tells, and its next version comes with an event.
	}
	if r.Stale {
		return reconcile.Result{RequeueAfter: staleMost}, nil
	}
	soon := res.Requeue //nolint:staticcheck // crossplane-runtime asks for another reconcile in no other way.
	if soon && err == nil && r.behind != nil && r.behind() {
		return reconcile.Result{RequeueAfter: lostAfter}, nil
	}
	return xperrors.SilentlyRequeueOnConflict(res, err)
}

// Reconciler makes a Reconciliation for each reconcile of another reconciler.
func Reconciler(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return (&Reconciliation{}).Run(ctx, req, next)
	})
}

// A Poll says when to look again at what is not expected to have changed.
type Poll struct {
	// Interval between two looks.
	Interval time.Duration
	// Jitter is the fraction of the interval by which it varies, so that what is made together is not polled together.
	Jitter float64
}

// Settled returns how long to wait if all is well.
func (p Poll) Settled() time.Duration { return p.jittered(p.Interval) }

// Waiting returns how long to wait if something is awaited that will wake.
func (p Poll) Waiting() time.Duration { return p.jittered(min(p.Interval, waitMost)) }

func (p Poll) jittered(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()*2-1)*p.Jitter*float64(d)) //nolint:gosec // Jitter needs no secrecy.
}
