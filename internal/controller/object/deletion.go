package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// reasonNotWithdrawn is the reason of events about fields that a target does not let go.
const reasonNotWithdrawn event.Reason = "CannotWithdrawFields"

// errDependents is the cause of errors about others that need the resource of a deleted Object.
var errDependents = errors.New("waiting for those who hold the Object")

// observeDeleted looks at the resource of an Object that is being deleted.
func (e *external) observeDeleted(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	if len(o.GetFinalizers()) == 1 { // Until then others hold the Object, and with it its resource.
		to, found, err := e.adopter(ctx, o)
		if err != nil {
			return managed.ExternalObservation{}, err
		}
		if found {
			return managed.ExternalObservation{}, e.transferOwnership(ctx, o, to)
		}
	}
	// Before the look at the resource: what is gone by now makes it again no more.
	if err := e.checkRecreation(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	there, err := e.last(ctx, o)
	if releasesResource(o, err) {
		e.pass.left, e.pass.leaving = err, nil
		return managed.ExternalObservation{}, nil
	}
	if why := deletionBlockers(e.live); there && why != "" {
		e.pass.remains = "Waiting for " + describe(e.live) + "; " + why
	}
	return managed.ExternalObservation{ResourceExists: there, ResourceUpToDate: true}, waiting(err)
}

// checkRecreation looks whether others may make the resource again that a deleted Object deletes, and how long. They
// may if the policy leaves that to them, as long as the Objects that go with this one are there: a Subscription, say,
// whose operator it is.
func (e *external) checkRecreation(ctx context.Context, o Object) error {
	p := o.GetManagementPolicies()
	if policy.OfDeleted(p, orphans(o)) != policy.Delete || policy.Allows(p, xpv2.ManagementActionCreate) {
		return nil
	}
	leaves, err := e.options.References.Leaving(ctx, reference.Referrer{Object: o, GVK: e.gvk, Owner: e.owner})
	if err != nil && !reference.IsAwaited(err) {
		return err
	}
	e.pass.regrows, e.pass.leaving = leaves, err
	return nil
}

// last finds the resource of an Object that is being deleted, and reports whether it is there. It goes by what the
// Object last saw, and by the manifest only if that is nothing: deletion does not depend on a manifest that can be
// applied.
func (e *external) last(ctx context.Context, o Object) (bool, error) {
	e.manifest = identity(o)
	if e.manifest == nil {
		m, err := e.unseen(ctx, o)
		if m == nil || err != nil {
			return false, err // It was never applied.
		}
		e.manifest = m
	}
	there, err := e.findSeen(ctx, o)
	return there, targetresource.Asked(err)
}

// findSeen finds the resource that the manifest identifies, and reports whether it is there and the one of the Object.
func (e *external) findSeen(ctx context.Context, o Object) (bool, error) {
	served, err := e.locate(ctx)
	if err != nil || !served {
		return false, err // What the target does not serve is gone.
	}
	if err := e.find(ctx, o); err != nil {
		return false, err
	}
	if o.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonUnauthorized {
		// A watch that has begun goes on when the credentials are not accepted any more.
		if err := e.ask(ctx); err != nil {
			return false, err
		}
	}
	if err := e.claim(ctx, o); err != nil {
		return false, err
	}
	return e.live != nil && e.ours(o), nil
}

// locate finds how the target serves the kind, in another version if need be, and reports whether it does.
func (e *external) locate(ctx context.Context) (bool, error) {
	m, served, err := targetresource.Locate(ctx, e.cluster, e.owner, e.manifest)
	if err != nil || !served {
		return false, err
	}
	e.mapping = m
	return place(e.manifest, m) == nil, nil // Without a namespace it was never applied.
}

// ours reports whether the live resource is the one an Object has made or last seen: by its UID or, if the Object was
// interrupted before it could record that, by the fields it has applied. What others may have made again is known by
// its name.
func (e *external) ours(o Object) bool {
	if seen := identity(o); seen != nil && (seen.GetUID() == e.live.GetUID() || e.pass.regrows) {
		return true
	}
	return apply.Manages(e.live, e.manager)
}

// release takes back what a deleted Object has applied to a resource that it leaves to others. crossplane-runtime does
// not connect for an Object that may not delete, so this is done when its finalizer is about to be removed.
func (c *connector[T]) release(ctx context.Context, obj client.Object) error {
	p := passOf(ctx)
	o, ok := obj.(T)
	if !ok {
		return p.fail(errors.Errorf("resource is a %T and not a %s", obj, c.kind.GVK.Kind))
	}
	if dryRun(o) || policy.OfDeleted(o.GetManagementPolicies(), orphans(o)) != policy.Withdraw {
		return nil
	}
	if n := len(o.GetFinalizers()); n > 1 {
		return p.fail(errors.Wrapf(errDependents, "%d other finalizers", n-1))
	}
	e, err := c.open(ctx, o)
	if err == nil {
		err = e.release(ctx, o)
	}
	if releasesResource(o, err) {
		p.left = err
		return nil
	}
	return p.fail(waiting(err))
}

func (e *external) release(ctx context.Context, o Object) error {
	there, err := e.last(ctx, o)
	if err != nil || !there {
		return err
	}
	return e.withdraw(ctx, o)
}

// withdraw takes back the fields an Object has applied to the resource. If the resource would be invalid without them,
// they stay.
func (e *external) withdraw(ctx context.Context, o Object) error {
	if !apply.Manages(e.live, e.manager) {
		return nil
	}
	err := apply.Withdraw(ctx, e.cluster.Resource(e.mapping.Resource, e.live.GetNamespace()), e.live, e.manager)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone, and there may be a namesake.
	}
	if apierrors.IsInvalid(err) {
		e.events.Event(o, event.Warning(reasonNotWithdrawn, errors.Wrapf(err, "fields stay in %s", describe(e.live))))
		return nil
	}
	return errors.Wrapf(targetresource.Asked(err), "cannot withdraw fields from %s", describe(e.live))
}
