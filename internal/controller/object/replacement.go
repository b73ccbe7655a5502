package object

import (
	"context"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// replacePoll is how soon a resource that is on its way out is read again, if no watch tells of it earlier.
	replacePoll = 2 * time.Second

	// reasonLeft is the reason of events about resources that an Object leaves: it cannot reach them, or is on a dry
	// run.
	reasonLeft event.Reason = "LeftExternalResource"
)

// orphans returns the deletionPolicy of an Object, empty if it has none.
func orphans(o Object) xpv2.DeletionPolicy {
	if l, ok := o.(resource.Orphanable); ok {
		return l.GetDeletionPolicy()
	}
	return ""
}

// A replacement is an Object whose manifest or ProviderConfig names another resource than it has seen last.
type replacement struct{ *remote }

// replace deals with the resource that an Object has seen last, if the manifest or the ProviderConfig names another one
// now, and reports whether that is done. Until then the record of it in the status stays, as it is all that tells of it
// after a restart.
func (e replacement) replace(ctx context.Context, o Object) (bool, error) {
	seen := identity(o)
	if seen == nil || !e.moved && sameResource(seen, e.Manifest) {
		e.arrive()
		return true, nil
	}
	same, err := e.holds(ctx, o, seen)
	if err != nil {
		return false, err
	}
	if same {
		e.arrive()
		return true, nil
	}
	done, err := e.dispose(ctx, o, seen)
	if err != nil || !done {
		return false, err
	}
	// This is recorded before the new resource is made, so that nobody looks for the old one after an interruption.
	switch err := e.record(ctx, o, forgetIdentity); {
	case apierrors.IsConflict(err):
		return false, err
	case err != nil:
		return false, errors.Wrapf(targetresource.ErrControlPlane, "cannot record that %s is replaced or released: %v",
			describe(seen), err)
	}
	o.Observed().Manifest.Raw, o.Observed().OmittedBytes = nil, 0
	e.arrive()
	return true, nil
}

// forgetIdentity makes a status that of an Object which has seen no resource. Others may go on to read what it shows.
func forgetIdentity(obs *commonv1.ObjectObservation) {
	content := map[string]any{}
	if decode(obs.Manifest.Raw, &content) == nil {
		unstructured.RemoveNestedField(content, "metadata", "uid")
		obs.Manifest.Raw = encode(content)
	}
	obs.Applied, obs.ProviderConfigReference = nil, nil
}

// holds reports whether the target holds the resource that was seen under the name it is wanted by now: it is reached
// through another ProviderConfig, or served in another group too.
func (e replacement) holds(ctx context.Context, o Object, seen *unstructured.Unstructured) (bool, error) {
	if seen.GetKind() != e.Manifest.GetKind() || targetresource.Name(seen) != targetresource.Name(e.Manifest) {
		return false, nil
	}
	err := e.find(ctx, o)
	return err == nil && e.live != nil && e.live.GetUID() == seen.GetUID(), err
}

// arrive ends what an Object has of the target that it has left.
func (e replacement) arrive() {
	if e.moved {
		e.forgetPrevious()
	}
}

// dispose does with the resource that was seen what the policies say of one that is replaced, and reports whether
// nothing is left to wait for.
func (e replacement) dispose(ctx context.Context, o Object, seen *unstructured.Unstructured) (bool, error) {
	ending := policy.OfReplaced(o.GetManagementPolicies(), orphans(o))
	if ending == policy.Leave && !hasApplied(o) {
		return true, nil
	}
	old, there, err := e.old(ctx, o, seen)
	if ending == policy.Leave {
		if there {
			err = old.leave(ctx)
		}
		err = unlessLeft(e.events, o, err)
		return err == nil, err
	}
	if releasesResource(o, err) {
		err = errors.Wrapf(err, "cannot reach %s, which is kept, so delete it there if you do not need it", describe(seen))
		e.events.Event(o, event.Warning(reasonLeft, err))
		return true, nil
	}
	if err != nil || !there {
		return err == nil, errors.Wrapf(waiting(err), "cannot replace %s", describe(seen))
	}
	_, found, err := old.adopter(ctx, o)
	if err != nil {
		return false, err
	}
	if found || ending == policy.Withdraw {
		return true, old.withdraw(ctx, o)
	}
	if mayApply(o) && !old.applied(o) {
		return true, nil // It was only looked at, under another policy or on a dry run.
	}
	if gone, err := old.remove(ctx, o); err != nil || gone {
		return gone, errors.Wrapf(err, "cannot replace %s", describe(seen))
	}
	e.await(o, old)
	return false, nil
}

// old returns the resource that was seen, on the target where it was seen, and whether it is there.
func (e replacement) old(ctx context.Context, o Object, seen *unstructured.Unstructured) (*remote, bool, error) {
	old := &remote{
		reconciliation: e.reconciliation, Resource: e.Resource, drift: e.drift, events: e.events, options: e.options,
	}
	old.Manifest = seen
	if e.moved {
		var err error
		old.Owner = previousOwner(e.Owner)
		old.Admit = func(ctx context.Context) error {
			_, err := e.connectPrevious(ctx)
			return err
		}
		if old.Cluster, err = e.connectPrevious(ctx); err != nil {
			return nil, false, err
		}
	}
	there, err := old.findSeen(ctx, o)
	return old, there, err
}

// applied reports whether an Object has ever applied the live resource.
func (e *remote) applied(o Object) bool {
	return o.Observed().Applied != nil || appliedByClient(o) || apply.Manages(e.live, e.manager)
}

// await reports that a resource is not gone yet, and why.
func (e *remote) await(o Object, old *remote) {
	m := fmt.Sprintf("Waiting for the deletion of %s, which is replaced", describe(old.Manifest))
	if why := readiness.DeletionBlockers(old.live); why != "" {
		m += "; " + why
	}
	e.retry = replacePoll
	e.verdict = &readiness.Verdict{Message: m}
	e.report(o, commonv1.ReasonReplacing, m)
}

// describe names a resource in messages.
func describe(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + cache.NamespacedNameAsObjectName(targetresource.Name(u)).String()
}
