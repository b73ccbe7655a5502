package object

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

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
	fields := strings.Join(e.Client(e.manager).RefusedFields(e.Manifest, refused), ", ")
	e.events.Event(o, event.Warning(reasonRecreating, errors.Errorf("%s is deleted, and recreated from the manifest, "+
		"because the target cannot change %s", describe(e.live), cmp.Or(fields, "what differs"))))
	e.await(o, e.remote)
	return nil
}

// isPending reports whether a resource that is being deleted makes way for a changed manifest.
func (e recreation) isPending(o Object) bool {
	return o.Desired().ForProvider.OnImmutableChange == commonv1.ImmutableChangeRecreate && owns(o) && e.isChanged(o)
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
	others, err := e.options.Index.others(ctx, o)
	shares := slices.IndexFunc(others, func(x Object) bool { return e.live != nil && hasSeen(x, e.live.GetUID()) })
	switch {
	case !apply.IsImmutable(refused):
		return "the target does not report that a field is immutable"
	case applied != nil && !e.isChanged(o):
		return "the manifest has not changed since it was applied, but another client has changed the resource"
	case !policy.Owns(p) || policy.OfDeleted(p, orphans(o)) != policy.Delete:
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
