package object

import (
	"cmp"
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeManifest is the resource of an Object's manifest.
const purposeManifest informer.Purpose = "manifest"

var serviceAccounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")

// A remote is the resource of one Object on its target, for one reconcile.
type remote struct {
	*reconciliation
	targetresource.Resource

	local   *clusters.Cluster       // the control plane
	gvk     schema.GroupVersionKind // of the Object
	drift   *targetresource.Drift
	events  event.Recorder
	options Options

	// config is the ProviderConfig of the cluster, and moved says that the Object has seen its resource through another
	// one last.
	config xpv2.ProviderConfigReference
	moved  bool
	leaves bool // the other ProviderConfig is in the slot of another replica
	// connectPrevious connects to the target the Object has left, and forgetPrevious ends that connection.
	connectPrevious func(context.Context) (*clusters.Cluster, error)
	forgetPrevious  func()
	// record writes a change of what the Object has seen to its status.
	record func(context.Context, Object, func(*commonv1.ObjectObservation)) error

	ignored apply.Ignored              // the fields of the manifest that are left to others
	live    *unstructured.Unstructured // shared with the watch; nil if it does not exist
	manager string                     // the field manager, known after look
}

// look finds the live resource and the field manager. It asks the target only where no watch can tell: one that the
// Object has applied, and the watch does not show, is gone or lacks our label. Once it is known to be gone it is not
// asked for again.
func (e *remote) look(ctx context.Context, o Object) (err error) {
	e.live, err = e.See(ctx, e.streams(o)...)
	unsure := o.Observed().Applied != nil && o.GetCondition(xpv2.TypeReady).Message != messageMissing
	if err == nil && e.live == nil && manages(o) && (unsure && e.isAt(o) || appliedByClient(o)) {
		err = e.find(ctx, o)
	}
	if err != nil {
		return err
	}
	return e.claim(ctx, o)
}

// find finds the live resource like look, and asks the target if no watch shows it: it may only lack our label.
func (e *remote) find(ctx context.Context, o Object) (err error) {
	e.live, err = e.Find(ctx, e.streams(o)...)
	return err
}

// streams returns the streams that show the resource of an Object.
func (e *remote) streams(o Object) []informer.Stream {
	if manages(o) {
		return e.Labelled()
	}
	return []informer.Stream{informer.StreamByName}
}

// Managers under which provider-kubernetes has written without server-side apply: the name of its program in its
// images, and when it is built by hand. Programs of other providers have the second name, too.
const (
	managerOfImage = "crossplane-kubernetes-provider"
	managerOfBuild = "provider"
)

// appliedByClient reports whether a resource that was never applied by us has, when last seen, been applied
// client-side. Somebody else has seen it then, and it lacks our label.
func appliedByClient(o Object) bool {
	if o.Observed().Applied != nil {
		return false
	}
	seen := &metav1.PartialObjectMetadata{}
	if decode(o.Observed().Manifest.Raw, seen) != nil {
		return false
	}
	_, annotated := seen.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	return annotated || slices.ContainsFunc(seen.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationUpdate &&
			(e.Manager == managerOfImage || e.Manager == apply.ManagerOfKubectl)
	})
}

// write applies the manifest, after it has made ours what was applied client-side. That of a resource which could not
// be seen before shows in the answer, or is in the way of the manifest, and is made ours by a second round.
func (e *remote) write(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	seen, err := e.live, error(nil)
	if seen == nil && len(e.ignored.Paths) > 0 {
		seen, err = e.Ask(ctx) // One without our label has values to be kept, too.
	}
	if err != nil {
		return nil, err
	}
	switch now, err := e.migrate(ctx, o, seen); {
	case err != nil:
		return nil, err
	case now != nil:
		seen = now
	}
	live, err := e.send(ctx, o, seen)
	if err != nil {
		if seen == nil && apierrors.IsInvalid(err) && policy.Manages(o.GetManagementPolicies()) {
			seen, _ = e.Ask(ctx) // The refusal says more.
		}
		return e.Client(e.manager).Insist(ctx, e.migration(o, seen), err,
			func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) { return e.send(ctx, o, now) })
	}
	now, err := e.migrate(ctx, o, live)
	if err != nil || now == nil {
		return live, err
	}
	return e.send(ctx, o, now)
}

// migrate makes ours what of a resource was applied client-side, and returns the resource as it is then, nil if there
// was nothing.
func (e *remote) migrate(ctx context.Context, o Object,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if live == nil {
		return nil, nil //nolint:nilnil // There is nothing.
	}
	m, applied, seen := e.migration(o, live), o.Observed().Applied, &metav1.PartialObjectMetadata{}
	if applied != nil && len(live.GetManagedFields()) == 0 && hasSeen(o, live.GetUID()) {
		_ = decode(o.Observed().Manifest.Raw, seen) // That it was seen has been decoded.
		m.Known = seen.ManagedFields
		if len(m.Known) == 0 && applied.ManifestHash != apply.Hash(e.Manifest.Object) {
			e.events.Event(o, event.Warning(reasonFieldsMayStay, errors.New("the target has lost the owners of the fields of "+
				"the resource: fields that are no longer in the manifest remain until you remove them")))
		}
	}
	return e.Client(e.manager).Migrate(ctx, m)
}

// send sends the manifest in the request that can do no more than the policies allow, even if somebody makes or deletes
// the resource at this moment.
func (e *remote) send(ctx context.Context, o Object,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	c, p := e.Client(e.manager), o.GetManagementPolicies()
	switch {
	case len(e.ignored.Paths) > 0 && policy.Allows(p, xpv2.ManagementActionUpdate):
		return e.sendUnchanged(ctx, live)
	case policy.Manages(p):
		return c.Apply(ctx, e.Manifest)
	case policy.Allows(p, xpv2.ManagementActionCreate):
		return c.Create(ctx, e.Manifest)
	}
	return c.Update(ctx, e.Manifest, live.GetUID())
}

// sendUnchanged sends what of the manifest is not left to others, if the resource is as it was seen, or if there still
// is none: otherwise values of others would be set back.
func (e *remote) sendUnchanged(ctx context.Context,
	seen *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if seen == nil {
		return e.Client(e.manager).Introduce(ctx, e.Manifest)
	}
	payload, err := e.ignored.Payload(seen, e.Manifest, e.manager)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare the resource with the manifest")
	}
	payload.SetResourceVersion(seen.GetResourceVersion())
	live, err := e.Client(e.manager).Update(ctx, payload, seen.GetUID())
	if !apierrors.IsConflict(err) {
		return live, err
	}
	now, asked := e.Ask(ctx)
	if asked == nil && (now == nil || now.GetResourceVersion() != seen.GetResourceVersion()) {
		err = errors.Wrap(targetresource.ErrChanged, "cannot apply "+describe(e.Manifest))
	}
	return nil, err
}

// migration returns what of a resource may become ours.
func (e *remote) migration(o Object, live *unstructured.Unstructured) apply.Migration {
	p, legacy := o.GetManagementPolicies(), append(slices.Clone(e.options.LegacyFieldManagers), managerOfImage)
	if policy.Allows(p, xpv2.ManagementActionUpdate) {
		legacy = append(legacy, e.manager) // It has created the resource, or left it once.
	}
	return apply.Migration{
		Live: live, Manifest: e.Manifest, Manager: e.manager, Owned: policy.Manages(p), Legacy: legacy,
		Signed: []string{managerOfBuild}, Ignored: e.ignored,
		Left: []string{commonv1.FieldManagerPrefix, workloadv1alpha1.FieldManagerRemotePrefix},
	}
}

// hasApplied reports whether an Object may have to give up fields of a resource that it leaves.
func hasApplied(o Object) bool {
	return o.Observed().Applied != nil && policy.Allows(o.GetManagementPolicies(), xpv2.ManagementActionUpdate)
}

// leave gives up the fields of a resource that stays as it is: the next Object or application that has the resource
// takes over those that it gives.
func (e *remote) leave(ctx context.Context) error {
	_, err := e.Write(ctx, func() (*unstructured.Unstructured, error) { return e.Client(e.manager).Leave(ctx, e.live) })
	return client.IgnoreNotFound(err)
}

// unlessLeft returns why an Object cannot give up fields yet. If the target does not let it, that is told, and the
// Object is not kept back.
func unlessLeft(events event.Recorder, o Object, err error) error {
	if err == nil || apierrors.IsConflict(err) || clusters.IsBrief(err) {
		return err // It has changed, or is not known yet.
	}
	events.Event(o, event.Warning(reasonFieldsMayStay, errors.Wrap(err, "cannot release the fields of the resource: "+
		"fields that a later Object removes from its manifest remain until you remove them")))
	return nil
}

// remove requests the deletion of the live resource, and reports whether the target says that it is gone.
func (e *remote) remove(ctx context.Context, o Object) (gone bool, err error) {
	p := cmp.Or(o.Desired().ForProvider.DeletionPropagationPolicy, metav1.DeletePropagationBackground)
	return e.Delete(ctx, e.live, p)
}
