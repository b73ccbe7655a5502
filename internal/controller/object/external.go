package object

import (
	"cmp"
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// reasonFieldsMayStay is the reason of events about targets that have lost who owns which field.
const reasonFieldsMayStay event.Reason = "FieldsMayStay"

// Messages of condition Ready while there is no resource, and while there can be none.
const (
	messageMissing = "The resource does not exist"
	messageNoKind  = "The target does not serve the kind of the resource"
	// messageNoNamespace is of a resource that cannot be created.
	messageNoNamespace = "The namespace of the resource does not exist on the target"
)

// ownersMost is how many fields that others own are told of a resource that they change again and again.
const ownersMost = 3

// lossesMost is how often in a few minutes a resource is applied again that has only lost its managed fields.
const lossesMost = 2

// An external is what crossplane-runtime asks about one Object and its target, for one reconcile.
type external struct{ *remote }

// Observe looks at the resource and records what it sees in the status of the Object.
func (e *external) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	obs, err := e.observe(ctx, objectOf(mg))
	return obs, e.fail(err)
}

func (e *external) observe(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	if meta.WasDeleted(o) {
		return deletion{e.remote}.observeDeleted(ctx, o)
	}
	if err := e.prepare(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	if dryRun(o) {
		return e.preview(ctx, o)
	}
	if done, err := (replacement{e.remote}).replace(ctx, o); err != nil || !done {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
	}
	if e.leaves {
		e.handOver(o)
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if previews(o) {
		return e.preview(ctx, o)
	}
	if err := e.look(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	if e.live == nil {
		return e.missing(ctx, o)
	}
	if err := e.see(o); err != nil {
		return managed.ExternalObservation{}, err
	}
	lack := e.gather(ctx, o)
	current, err := e.upToDate(o)
	if err == nil && current {
		e.conclude(ctx, o)
		err = lack // It keeps nothing from being applied.
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: current}, err
}

// conclude says in condition Synced what of the resource is not as it was applied, although nothing is to be applied
// now.
func (e *external) conclude(ctx context.Context, o Object) {
	switch err := targetresource.Leaving(e.live); {
	case err == nil || !mayApply(o):
	case recreation{e.remote}.isPending(o):
		e.await(o, e.remote)
	default:
		e.report(o, commonv1.ReasonWaitingForDeletion, err.Error())
	}
	if manages(o) && e.Follow(ctx, e.live) && e.synced == nil {
		e.report(o, commonv1.ReasonContested, targetresource.MessageUnlabelled)
	}
}

// prepare computes what is wanted, and where on the target it lives.
func (e *external) prepare(ctx context.Context, o Object) error {
	var err error
	if e.Manifest, err = manifest(o, e.references); err != nil {
		return err
	}
	if e.ignored, err = ignored(o); err != nil {
		return err
	}
	apply.Prepare(e.Manifest)
	e.SecretFields = e.references.SecretFields()
	e.Mapping, err = e.Cluster.Mapping(ctx, e.Manifest.GroupVersionKind())
	if err != nil {
		if clusters.IsNoKind(err) {
			e.verdict = &readiness.Verdict{Message: messageNoKind}
		}
		return errors.Wrap(err, "cannot find kind of manifest")
	}
	return fit(e.Manifest, e.Mapping)
}

// missing returns what follows from there being no resource. One that was there and is made again and again is made
// ever more slowly.
func (e *external) missing(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	if ran, err := e.ran(o); ran || err != nil {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
	}
	e.verdict = &readiness.Verdict{Message: messageMissing}
	if !policy.Allows(o.GetManagementPolicies(), xpv2.ManagementActionCreate) {
		e.report(o, commonv1.ReasonResourceMissing,
			"management policies do not allow to create the resource, so create it or allow Create: "+
				managedadapter.MessageMissing)
		return managed.ExternalObservation{ResourceUpToDate: true}, nil
	}
	if identity(o) == nil {
		return managed.ExternalObservation{}, nil
	}
	if name, err := e.missingAccount(ctx); name != "" || err != nil {
		e.report(o, commonv1.ReasonWaitingForReference,
			"waiting for ServiceAccount "+name+" on the target: create the ServiceAccount, without which the target deletes "+
				"its token")
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
	}
	wait, err := e.contested(o, e.Manifest)
	return managed.ExternalObservation{ResourceExists: wait, ResourceUpToDate: wait}, err
}

// missingAccount returns the ServiceAccount without which the target deletes the Secret of its token, empty if nothing
// is known to be missing. The Object is woken when it is made.
func (e *external) missingAccount(ctx context.Context) (string, error) {
	t, _, _ := unstructured.NestedString(e.Manifest.Object, "type")
	if t != string(corev1.SecretTypeServiceAccountToken) {
		return "", nil
	}
	i := informer.WatchRequest{Resource: serviceAccounts, Stream: informer.StreamByName}
	i.NamespacedName = types.NamespacedName{
		Namespace: e.Manifest.GetNamespace(), Name: e.Manifest.GetAnnotations()[corev1.ServiceAccountNameKey],
	}
	account, err := e.Cluster.Get(ctx, e.Owner, purposeDetails, i)
	e.Cluster.Watches().Done(e.Owner, purposeDetails)
	if account == nil && !apierrors.IsForbidden(err) {
		return i.String(), err
	}
	return "", nil
}

// contested reports whether it is too early to restore a resource that others have changed. It says what they do if
// that is a fight.
func (e *external) contested(o Object, payload *unstructured.Unstructured) (bool, error) {
	e.retry = e.drift.Wait(e.Owner)
	if e.drift.Fights(e.Owner) == 0 {
		return false, nil
	}
	what, err := "it is deleted", error(nil)
	switch {
	case e.live != nil && manages(o) && !targetresource.IsLabelled(e.live):
		what = "label " + commonv1.LabelKeyManaged + " is removed"
	case e.live != nil:
		var owners []string
		owners, err = apply.Owners(e.live, payload, e.manager)
		what = cmp.Or(managedadapter.Some(owners, ownersMost, ", "), "fields of the manifest are removed") +
			": remove the fields from the manifest, or stop the other manager"
	case len(e.Manifest.GetOwnerReferences()) > 0:
		what += ", as the garbage collector does if no owner in metadata.ownerReferences exists"
	}
	e.report(o, commonv1.ReasonContested,
		"another client changes the resource again and again, so the provider restores it with increasing delays: "+what)
	return e.retry > 0, errors.Wrap(err, "cannot compare the resource with the manifest")
}

// rest takes that the resource is as it is to be, for now: an Object that is in a fight still says so, and looks again
// when the fight is over.
func (e *external) rest(o Object) {
	if c := o.GetCondition(xpv2.TypeSynced); c.Reason == commonv1.ReasonContested {
		if e.retry = e.drift.Fights(e.Owner); e.retry > 0 {
			e.synced = &c
		}
	}
}

// ran reports whether a resource that is to be made once has been, of the present manifest. Then the Object is as ready
// as the resource was when it was last seen.
func (e *external) ran(o Object) (bool, error) {
	applied := o.Observed().Applied
	if o.GetAnnotations()[commonv1.AnnotationKeyRunOnce] != "true" || applied == nil ||
		applied.ManifestHash != apply.Hash(e.Manifest.Object) {
		return false, nil
	}
	last := &unstructured.Unstructured{}
	if err := decode(o.Observed().Manifest.Raw, &last.Object); err != nil {
		return false, err
	}
	last.SetDeletionTimestamp(nil) // It has gone since.
	e.judge(o, last)
	return true, nil
}

// see records the live resource in the status, and whether it is ready.
func (e *remote) see(o Object) error {
	e.judge(o, e.live)
	if was := o.Observed().ProviderConfigReference; was == nil || *was != e.config {
		o.Observed().ProviderConfigReference = new(e.config)
	}
	return record(o, e.live, e.options)
}

// judge finds out whether a resource is ready.
func (e *remote) judge(o Object, u *unstructured.Unstructured) {
	e.verdict = new(readiness.Of(o.Desired().Readiness, u, e.Mapping.Status))
}

// upToDate reports whether nothing needs to be applied now.
func (e *external) upToDate(o Object) (bool, error) {
	p := o.GetManagementPolicies()
	if !policy.Allows(p, xpv2.ManagementActionUpdate) || e.live.GetDeletionTimestamp() != nil {
		return true, nil
	}
	applied := o.Observed().Applied
	if applied == nil || applied.ManifestHash != apply.Hash(e.Manifest.Object) {
		return false, nil
	}
	if legacy, err := e.migration(o, e.live).Needed(); err != nil || legacy {
		return false, err
	}
	held, err := apply.HashOwned(e.live, e.Manifest, e.manager, e.ignored)
	if err != nil {
		return false, errors.Wrap(err, "cannot compare the resource with the manifest")
	}
	if held == applied.FieldsHash {
		e.rest(o)
		return true, nil
	}
	payload, err := e.ignored.Payload(e.live, e.Manifest, e.manager)
	if err != nil {
		return false, errors.Wrap(err, "cannot compare the resource with the manifest")
	}
	// A server that cannot convert managed fields drops them with each write. To apply again helps until the next one.
	if len(e.live.GetManagedFields()) == 0 && e.drift.Reverts(e.Owner) >= lossesMost &&
		equality.Semantic.DeepDerivative(payload.Object, e.live.Object) {
		return true, nil
	}
	return e.contested(o, payload)
}

// Create applies the manifest.
func (e *external) Create(ctx context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.fail(e.apply(ctx, objectOf(mg)))
}

// Update applies the manifest.
func (e *external) Update(ctx context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.fail(e.apply(ctx, objectOf(mg)))
}

func (e *external) apply(ctx context.Context, o Object) error {
	live, err := e.Write(ctx, func() (*unstructured.Unstructured, error) { return e.write(ctx, o) })
	if err != nil {
		return recreation{e.remote}.recreate(ctx, o, err)
	}
	e.live = live
	if err := e.remember(o); err != nil {
		return err
	}
	if err := e.see(o); err != nil {
		return err
	}
	e.conclude(ctx, o)
	return e.gatherApplied(ctx, o)
}

// Delete requests the deletion of the resource that Observe has seen. What others may make again is looked up after it.
func (e *external) Delete(ctx context.Context, mg resource.Managed) (managed.ExternalDelete, error) {
	gone, err := e.remove(ctx, objectOf(mg))
	e.gone = gone && !e.regrows
	return managed.ExternalDelete{}, e.fail(err)
}

// Disconnect does nothing: connections are shared, and released with the finalizer.
func (e *external) Disconnect(context.Context) error { return nil }
