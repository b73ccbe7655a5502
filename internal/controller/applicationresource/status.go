package applicationresource

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// errConflict is the cause of errors about resources that somebody else has.
var errConflict = errors.New("name another resource in the template, or hand this one over by annotation " +
	workloadv1alpha1.AnnotationKeyResourceUID)

// errSecretMissing is the cause of errors about Secrets that do not exist.
var errSecretMissing = errors.New("create them, or take them out of spec.secrets")

// causeOf returns what an error means to a KubernetesApplicationResource.
func causeOf(err error) targetresource.Cause {
	return targetresource.CauseOf(err,
		targetresource.Cause{ // Nobody tells when a webhook goes.
			Is: targetresource.By(managedadapter.ErrFinalizerContested), Reason: commonv1.ReasonFinalizerContested, Woken: true,
		},
		targetresource.Cause{Is: targetresource.IsOfControlPlane},
		targetresource.Cause{
			Is: targetresource.By(errSecretMissing), Reason: workloadv1alpha1.ReasonWaitingForSecret, Woken: true,
		},
		targetresource.Cause{Is: targetresource.By(errConflict), Reason: commonv1.ReasonNameTaken, Woken: true},
		targetresource.Cause{
			Is: targetresource.By(errInvalidTemplate), Reason: commonv1.ReasonInvalidManifest, Woken: true,
		},
		targetresource.Cause{Is: clusters.IsUnreachable, Reason: commonv1.ReasonTargetUnreachable, Woken: true})
}

// waits reports whether an error means that something is not there yet, and not that somebody refuses the resource.
func waits(err error) bool {
	waiting := []xpv2.ConditionReason{
		commonv1.ReasonTargetUnreachable, commonv1.ReasonInvalidConnection, commonv1.ReasonNamespaceNotAllowed,
		commonv1.ReasonUnknownKind,
		workloadv1alpha1.ReasonWaitingForSecret, commonv1.ReasonNamespaceMissing, commonv1.ReasonNamespaceTerminating,
	}
	return slices.Contains(waiting, causeOf(err).Reason)
}

// stateOf returns the state of a KubernetesApplicationResource after a pass.
func stateOf(p *pass, err error) workloadv1alpha1.State {
	last := p.before.Status
	submitted := last.State == workloadv1alpha1.StateSubmitted && last.ObservedGeneration == p.resource.GetGeneration()
	switch {
	case meta.WasDeleted(p.resource):
		return workloadv1alpha1.StateDeleting
	case p.resource.Spec.ClusterRef == nil:
		return workloadv1alpha1.StatePending
	case p.current, err == nil && submitted:
		return workloadv1alpha1.StateSubmitted
	case err != nil && !waits(err):
		return workloadv1alpha1.StateFailed
	case submitted && !p.looked:
		return workloadv1alpha1.StateSubmitted // As far as is known.
	}
	return workloadv1alpha1.StateScheduled
}

// describe puts into the status what a pass has found.
func describe(p *pass, err error) error {
	o := p.resource
	o.Status.State = stateOf(p, err)
	o.Status.ObservedGeneration = o.GetGeneration()
	synced := xpv2.ReconcileSuccess()
	switch {
	case err != nil:
		synced = xpv2.ReconcileError(err)
		synced.Reason = cmp.Or(causeOf(err).Reason, synced.Reason)
	case o.Status.State == workloadv1alpha1.StatePending:
		synced = xpv2.ReconcileError(errors.New("No cluster yet: the application sets spec.clusterRef when it has one"))
		synced.Reason = workloadv1alpha1.ReasonUnscheduled
	}
	o.SetConditions(synced.WithObservedGeneration(o.GetGeneration()),
		ready(o.Status.State).WithObservedGeneration(o.GetGeneration()))
	if !p.looked {
		return nil
	}
	return showRemote(p)
}

// ready returns condition Ready in a state.
func ready(s workloadv1alpha1.State) xpv2.Condition {
	switch s {
	case workloadv1alpha1.StateSubmitted:
		return xpv2.Available()
	case workloadv1alpha1.StateDeleting:
		return xpv2.Deleting()
	case workloadv1alpha1.StatePending, workloadv1alpha1.StateScheduled, workloadv1alpha1.StatePartiallySubmitted,
		workloadv1alpha1.StateFailed:
	}
	return xpv2.Unavailable().WithMessage("The resource is not submitted to the cluster: see condition Synced")
}

// showRemote copies the status of the live resource, unless that is what the status shows already, or is known to be
// too large to show.
func showRemote(p *pass) error {
	var now any
	if p.live != nil {
		now = p.live.Object["status"]
	}
	st := &p.resource.Status
	if now == nil {
		st.Remote, st.OmittedBytes = nil, 0
		return nil
	}
	if st.Remote != nil {
		var shown any
		if utiljson.Unmarshal(st.Remote.Raw, &shown) == nil && equality.Semantic.DeepEqual(shown, now) {
			return nil
		}
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return errors.Wrap(err, "cannot encode the status of the resource")
	}
	if st.OmittedBytes > 0 && int64(len(raw)) >= st.OmittedBytes {
		return nil // Only when it is smaller it may fit.
	}
	st.Remote, st.OmittedBytes = &apiextensionsv1.JSON{Raw: raw}, 0
	if len(raw)+len(p.resource.Spec.Template.Raw) > managedadapter.FitsMost {
		omit(p.resource)
	}
	return nil
}

// omit leaves the status of the live resource out, and reports whether it was there.
func omit(o *workloadv1alpha1.KubernetesApplicationResource) bool {
	if o.Status.Remote == nil {
		return false
	}
	o.Status.Remote, o.Status.OmittedBytes = nil, int64(len(o.Status.Remote.Raw))
	return true
}

// Reasons of events.
const (
	reasonSubmitted       event.Reason = "SubmittedResource"
	reasonPropagated      event.Reason = "PropagatedSecret"
	reasonWithdrawn       event.Reason = "DeletedSecret"
	reasonDeleted         event.Reason = "DeletedFromCluster"
	reasonLeft            event.Reason = "LeftExternalResource"
	reasonCannotClaim     event.Reason = "CannotClaim"
	reasonCannotConnect   event.Reason = "CannotConnectToTarget"
	reasonCannotPlace     event.Reason = "CannotPlaceResource"
	reasonCannotPropagate event.Reason = "CannotPropagateSecrets"
	reasonCannotSubmit    event.Reason = "CannotSubmitResource"
	reasonCannotDelete    event.Reason = "CannotDeleteResource"
	reasonCannotRelease   event.Reason = "CannotRelease"
)
