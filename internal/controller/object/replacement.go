package object

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	stays, err := seen == nil || !e.moved && sameResource(seen, e.Manifest), error(nil)
	if !stays {
		stays, err = e.holds(ctx, o, seen)
	}
	if err != nil {
		return false, err
	}
	if !stays {
		if done, err := e.dispose(ctx, o, seen); err != nil || !done {
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
	}
	if e.moved {
		e.forgetPrevious()
	}
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
	if seen.GetKind() != e.Manifest.GetKind() ||
		client.ObjectKeyFromObject(seen) != client.ObjectKeyFromObject(e.Manifest) {
		return false, nil
	}
	err := e.find(ctx, o)
	return err == nil && e.live != nil && e.live.GetUID() == seen.GetUID(), err
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
		return err == nil, errors.Wrapf(waiting(brief(err)), "cannot replace %s", describe(seen))
	}
	adopted, err := old.isAdopted(ctx, o)
	if err != nil {
		return false, err
	}
	if adopted || ending == policy.Withdraw {
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
	return u.GetKind() + " " + cache.NamespacedNameAsObjectName(client.ObjectKeyFromObject(u)).String()
}

// reasonRecreating is the reason of events about resources that are deleted to be made again.
const reasonRecreating event.Reason = "RecreatingResource"

// neverRecreated are kinds with which more is lost than the resource.
var neverRecreated = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
}

// A recreation is an Object whose manifest the target refuses for the resource that is there.
type recreation struct{ *remote }

// recreate deletes the live resource if that is how the Object follows a manifest that was refused, and returns the
// refusal if not. The resource is made again as any that is missing.
func (e recreation) recreate(ctx context.Context, o Object, refused error) error {
	if followed, err := e.isFollowed(ctx, o, refused); !followed {
		return err
	}
	if _, err := e.remove(ctx, o); err != nil {
		return errors.Wrapf(err, "cannot recreate %s", describe(e.live))
	}
	answer := &apierrors.StatusError{}
	_ = errors.As(refused, &answer) // Without what is to be done about it. It is one, as it is invalid.
	e.events.Event(o, event.Warning(reasonRecreating, errors.Wrapf(answer, "%s is deleted, and recreated from the "+
		"manifest, because the target cannot change it", describe(e.live))))
	e.await(o, e.remote)
	return nil
}

// isPending reports whether a resource that is being deleted makes way for a changed manifest.
func (e recreation) isPending(o Object) bool {
	return o.Desired().ForProvider.OnImmutableChange == commonv1.ImmutableChangeRecreate && manages(o) && e.isChanged(o)
}

// isChanged reports whether the manifest is another one than was applied. On a dry run it lacks our label.
func (e recreation) isChanged(o Object) bool {
	m, applied := e.Manifest.DeepCopy(), o.Observed().Applied
	return label(m) == nil && applied != nil && applied.ManifestHash != apply.Hash(m.Object)
}

// isFollowed reports whether the resource is to be made again because a manifest was refused. The error is the refusal,
// and says what becomes of the resource if the Object asks for another one.
func (e recreation) isFollowed(ctx context.Context, o Object, refused error) (bool, error) {
	if o.Desired().ForProvider.OnImmutableChange != commonv1.ImmutableChangeRecreate || !apierrors.IsInvalid(refused) ||
		e.live == nil && !apply.IsImmutable(refused) { // It is refused as a new one.
		return false, refused
	}
	why, m := e.obstacle(ctx, o, refused), e.Manifest.DeepCopy()
	if m.SetName("recreation-" + rand.String(10)); why == "" {
		if _, err := e.Client(e.manager).DryRun(ctx, m); err != nil {
			why = "the target also rejects the manifest for a new resource: " +
				strings.ReplaceAll(err.Error(), m.GetName(), e.Manifest.GetName()) // Each attempt has another name.
		}
	}
	if why != "" {
		return false, errors.Wrap(refused, "the resource is not recreated by onImmutableChange: "+why)
	}
	return true, errors.Wrap(refused, "onImmutableChange would recreate the resource")
}

// obstacle returns why the resource must not be deleted for a manifest that was refused, empty if it may be.
func (e recreation) obstacle(ctx context.Context, o Object, refused error) string {
	p, applied, kind := o.GetManagementPolicies(), o.Observed().Applied, e.Manifest.GroupVersionKind().GroupKind()
	last, known := e.Last().(Object)
	others, err := e.options.others(ctx, o)
	shares := slices.IndexFunc(others, func(x Object) bool { return e.live != nil && hasSeen(x, e.live.GetUID()) })
	switch {
	case !apply.IsImmutable(refused):
		return "the target does not report that a field is immutable"
	case applied != nil && !e.isChanged(o):
		return "the manifest has not changed since it was applied, but another client has changed the resource"
	case !policy.Manages(p) || policy.OfDeleted(p, orphans(o)) != policy.Delete:
		return "managementPolicies must allow Create, Update and Delete, and deletionPolicy must not be Orphan"
	case e.live == nil, applied == nil, !known, !hasSeen(last, e.live.GetUID()), !apply.Manages(e.live, e.manager):
		return "the Object has not applied the existing resource"
	case slices.Contains(neverRecreated, kind):
		return "a " + kind.Kind + " is never recreated, because other data is deleted with it"
	case kind == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) &&
		o.Desired().ForProvider.DeletionPropagationPolicy != metav1.DeletePropagationOrphan:
		return "a StatefulSet is only recreated with deletionPropagationPolicy Orphan, which keeps its Pods"
	case len(e.live.GetFinalizers()) > 0:
		return "the resource has finalizers: " + strings.Join(e.live.GetFinalizers(), ", ")
	case err != nil:
		return "cannot find other Objects that manage the resource: " + err.Error()
	case shares >= 0:
		return "Object " + others[shares].GetName() + " also manages the resource"
	case strings.Contains(strings.Join(o.GetFinalizers(), " "), commonv1.FinalizerReferredPrefix):
		return "another Object refers to this one"
	}
	return ""
}
