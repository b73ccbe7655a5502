package object

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// reasonNotWithdrawn is the reason of events about fields that a target does not let go.
const reasonNotWithdrawn event.Reason = "CannotWithdrawFields"

// errDependents is the cause of errors about others that need the resource of a deleted Object.
var errDependents = targetresource.Because(commonv1.ReasonWaitingForDependents,
	"delete the Objects that refer to this one; the controller that set another finalizer removes it")

// A deletion is an Object that is being deleted.
type deletion struct{ *remote }

// observeDeleted looks at the resource of an Object that is being deleted.
func (e deletion) observeDeleted(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	if e.gone {
		return managed.ExternalObservation{}, nil
	}
	// Until then others hold the Object, and with it its resource.
	if len(o.GetFinalizers()) == 1 && o.Desired().SharedResource == xpv2.DeletionOrphan {
		if left, err := e.transferOwnership(ctx, o); err != nil || left {
			return managed.ExternalObservation{}, e.orLeave(o, err)
		}
	}
	// Before the look at the resource: what is gone by now makes it again no more.
	if err := e.checkRecreation(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	there, err := e.last(ctx, o)
	if why := readiness.DeletionBlockers(e.live); there && why != "" {
		e.remains = "Waiting for " + describe(e.live) + "; " + why
	}
	return managed.ExternalObservation{ResourceExists: there, ResourceUpToDate: true}, e.orLeave(o, err)
}

// checkRecreation looks whether others may make the resource again that a deleted Object deletes, and how long. They
// may if the policy leaves that to them, as long as the Objects that go with this one are there: a Subscription, say,
// whose operator it is.
func (e deletion) checkRecreation(ctx context.Context, o Object) error {
	p := o.GetManagementPolicies()
	if policy.OfDeleted(p, orphans(o)) != policy.Delete || policy.Allows(p, xpv2.ManagementActionCreate) {
		return nil
	}
	leaves, err := e.options.References.Leaving(ctx, reference.Referrer{Object: o, GVK: e.gvk})
	if err != nil && !reference.IsAwaited(err) {
		return err
	}
	e.regrows, e.leaving = leaves, err
	return nil
}

// last finds the resource of an Object that is being deleted, and reports whether it is there. It goes by what the
// Object last saw, and by the manifest only if that is nothing: deletion does not depend on a manifest that can be
// applied.
func (e deletion) last(ctx context.Context, o Object) (bool, error) {
	e.Manifest = identity(o)
	if e.Manifest == nil {
		m, err := e.unseen(ctx, o)
		if m == nil || err != nil {
			return false, err // It was never applied.
		}
		e.Manifest = m
	}
	return e.findSeen(ctx, o)
}

// findSeen finds the resource that the manifest identifies, and reports whether it is there and the one of the Object.
func (e *remote) findSeen(ctx context.Context, o Object) (bool, error) {
	served, err := e.locate(ctx)
	if err != nil || !served {
		return false, err // What the target does not serve is gone.
	}
	if err := e.find(ctx, o); err != nil {
		return false, err
	}
	if o.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonUnauthorized {
		// A watch that has begun goes on when the credentials are not accepted any more.
		if e.live, err = e.Ask(ctx); err != nil {
			return false, err
		}
	}
	if err := e.claim(ctx, o); err != nil {
		return false, err
	}
	return e.live != nil && e.ours(o), nil
}

// locate finds how the target serves the kind, in another version if need be, and reports whether it does.
func (e *remote) locate(ctx context.Context) (bool, error) {
	m, served, err := targetresource.Locate(ctx, e.Cluster, e.Manifest)
	if err != nil || !served {
		return false, err
	}
	e.Mapping = m
	return fit(e.Manifest, m) == nil, nil // Without a namespace it was never applied.
}

// ours reports whether the live resource is the one an Object has made or last seen: by its UID or, if the Object was
// interrupted before it could record that, by the fields it has applied. What others may have made again is known by
// its name.
func (e *remote) ours(o Object) bool {
	if seen := identity(o); seen != nil && (seen.GetUID() == e.live.GetUID() || e.regrows) {
		return true
	}
	return apply.Manages(e.live, e.manager)
}

// withdraw takes back what a deleted Object has applied to a resource that it leaves to others, or gives it up if it
// leaves that, too. crossplane-runtime does not connect for an Object that may not delete, so this is done when its
// finalizer is about to be removed.
func (c *reconciler[T]) withdraw(ctx context.Context, obj client.Object) error {
	p, o := reconciliationOf(ctx), obj.(T) //nolint:forcetypeassert // The reconciler is of this kind only.
	ending := policy.OfDeleted(o.GetManagementPolicies(), orphans(o))
	if dryRun(o) || ending == policy.Delete || ending == policy.Leave && !hasApplied(o) {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(o.GetFinalizers()),
		func(f string) bool { return f == managed.FinalizerName })
	if ending == policy.Withdraw && len(others) > 0 {
		return p.fail(errors.Wrapf(errDependents, "waiting for finalizers %s", strings.Join(others, ", ")))
	}
	e, err := c.open(ctx, o)
	if err == nil {
		err = deletion{e.remote}.release(ctx, o, ending)
	}
	if ending == policy.Leave {
		return p.fail(unlessLeft(c.Events, o, err))
	}
	return p.fail(p.orLeave(o, err))
}

func (e deletion) release(ctx context.Context, o Object, ending policy.Ending) error {
	there, err := e.last(ctx, o)
	if err != nil || !there {
		return err
	}
	if ending == policy.Leave {
		return e.leave(ctx)
	}
	return e.withdraw(ctx, o)
}

// withdraw takes back the fields an Object has applied to the resource. If the resource would be invalid without them,
// they stay.
func (e *remote) withdraw(ctx context.Context, o Object) error {
	if !apply.Manages(e.live, e.manager) {
		return nil
	}
	_, err := e.Write(ctx, func() (*unstructured.Unstructured, error) {
		return e.Client(e.manager).Withdraw(ctx, e.live)
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone, and there may be a namesake.
	}
	if apierrors.IsInvalid(err) {
		e.events.Event(o, event.Warning(reasonNotWithdrawn, errors.Wrapf(err, "cannot remove the fields of the Object from "+
			"%s, so remove them yourself", describe(e.live))))
		return nil
	}
	return errors.Wrapf(err, "cannot remove the fields of the Object from %s", describe(e.live))
}

// AddFinalizer keeps our finalizer on an Object, and on what it refers to. The external name of the Object, which is
// its name if it has no other, and its claim are written along with it.
func (c *reconciler[T]) AddFinalizer(ctx context.Context, obj resource.Object) error {
	claim := c.missingClaim(ctx, obj)
	if claim != "" || !meta.FinalizerExists(obj, managed.FinalizerName) {
		err := managedadapter.PatchMetadata(ctx, c.Local, obj, func(o client.Object) {
			meta.AddFinalizer(o, managed.FinalizerName)
			if meta.GetExternalName(o) == "" {
				meta.SetExternalName(o, o.GetName())
			}
			if claim != "" {
				meta.AddAnnotations(o, map[string]string{commonv1.AnnotationKeyClaim: claim})
			}
		})
		if err != nil {
			return reconciliationOf(ctx).fail(err)
		}
	}
	return c.hold(ctx, obj)
}

// RemoveFinalizer removes the finalizer and gives up all that is kept for the Object.
func (c *reconciler[T]) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	if err := c.letGo(ctx, obj); err != nil {
		return err
	}
	if err := managedadapter.RemoveFinalizer(ctx, c.Local, obj, managed.FinalizerName); err != nil {
		return err
	}
	c.forget(client.ObjectKeyFromObject(obj))
	if left := reconciliationOf(ctx).left; left != nil {
		c.Events.Event(obj, event.Warning(reasonLeft, errors.Wrap(left, "the resource is kept on the target, so delete it "+
			"there if you do not need it")))
	}
	return nil
}

// letGo gives up what others hold for a deleted Object, and what it holds of others. It waits while others refer to it,
// and until what others make, and must stay gone until the Object has, is gone, too.
func (c *reconciler[T]) letGo(ctx context.Context, obj client.Object) error {
	p, f := reconciliationOf(ctx), c.referrer(obj)
	if err := c.options.References.Dependents(ctx, f); err != nil {
		if reference.IsAwaited(err) { // Of one that leaves its resource crossplane-runtime has no event.
			c.Events.Event(obj, event.Warning(event.Reason(commonv1.ReasonWaitingForDependents), err))
		}
		return p.fail(err)
	}
	if err := c.withdraw(ctx, obj); err != nil {
		return errors.Wrap(err, "cannot release the resource")
	}
	if err := c.options.References.Release(ctx, f); err != nil {
		return p.fail(err)
	}
	return p.fail(p.leaving)
}

// earlyHandler hears of the deletion of Objects, and has those reconciled that are gone although our finalizer was to
// keep them: an API server looks once whether an object that it is to delete has finalizers, and deletes it with one
// that is added after that look. The last state of such an Object has the finalizer, and was never marked as being
// deleted. We rejected to go by a write that finds the Object gone: a user who removes the finalizer, to keep what the
// Object has made, would be taken for this case.
func (c *reconciler[T]) earlyHandler() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e ctrlevent.DeleteEvent,
		q workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		last, ok := e.Object.(T)
		if !ok || e.DeleteStateUnknown || meta.WasDeleted(last) || !meta.FinalizerExists(last, managed.FinalizerName) ||
			meta.IsPaused(last) || len(last.GetManagementPolicies()) == 0 {
			return
		}
		o, n := copyOf(last), client.ObjectKeyFromObject(last)
		o.SetDeletionTimestamp(new(metav1.Now()))
		o.SetFinalizers([]string{managed.FinalizerName}) // Nobody removes those of others any more.
		c.early.Store(n, o)
		q.Add(reconcile.Request{NamespacedName: n})
	}}
}

// finish deletes the resource of an Object that is gone in spite of its finalizer, and reports whether nothing is left
// of it, or there is no such Object. The reconciliation knows why it could not be done.
func (c *reconciler[T]) finish(ctx context.Context, key types.NamespacedName) bool {
	known, there := c.early.Load(key)
	if !there {
		return true
	}
	o := copyOf(known.(Object)) //nolint:forcetypeassert // Nothing else is in it.
	left, err := c.deleteResource(ctx, o)
	if err == nil && !left {
		err = c.letGo(ctx, o)
	}
	if err != nil || left {
		c.options.Logger.Debug("Finishing an Object that was deleted in spite of its finalizer",
			"controller", c.Controller, "request", key, "error", err)
		return false
	}
	c.forget(key)
	c.early.Delete(key)
	reconciliationOf(ctx).gone = false // Nothing is known of one that has its name by now.
	return true
}

// deleteResource does what crossplane-runtime does with a deleted Object, and reports whether its resource is left.
func (c *reconciler[T]) deleteResource(ctx context.Context, o Object) (left bool, err error) {
	if err := c.Initialize(ctx, o); err != nil {
		return true, err
	}
	if policy.OfDeleted(o.GetManagementPolicies(), orphans(o)) != policy.Delete {
		return false, nil
	}
	e, err := c.Connect(ctx, o)
	if err != nil {
		return true, err
	}
	seen, err := e.Observe(ctx, o)
	if err != nil || !seen.ResourceExists {
		return err != nil, err
	}
	_, err = e.Delete(ctx, o)
	return !reconciliationOf(ctx).gone, err
}
