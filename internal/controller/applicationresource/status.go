package applicationresource

import (
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
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// errConflict is the cause of errors about resources that somebody else has.
var errConflict = targetresource.Because(commonv1.ReasonNameTaken,
	"name another resource in the template, or transfer this one by annotation "+
		workloadv1alpha1.AnnotationKeyResourceUID)

// errSecretMissing is the cause of errors about Secrets that do not exist.
var errSecretMissing = targetresource.Because(workloadv1alpha1.ReasonWaitingForSecret,
	"create them, or remove them from spec.secrets")

// errInvalidTemplate is the cause of errors that only a change of the template can cure.
var errInvalidTemplate = targetresource.Because(commonv1.ReasonInvalidManifest, "template is invalid")

// waiting are the reasons that mean that something is not there yet, and not that somebody refuses the resource.
var waiting = []xpv2.ConditionReason{
	commonv1.ReasonTargetUnreachable, commonv1.ReasonInvalidConnection, commonv1.ReasonNamespaceNotAllowed,
	commonv1.ReasonUnknownKind, workloadv1alpha1.ReasonWaitingForSecret, commonv1.ReasonNamespaceMissing,
	commonv1.ReasonNamespaceTerminating, commonv1.ReasonWaitingForDeletion,
}

// messageNotSubmitted is the message of conditions Ready and Healthy without a resource as it is wanted.
const messageNotSubmitted = "The resource is not submitted to the cluster: see condition Synced"

// messageBytes is how long the message of condition Healthy may be.
const messageBytes = 1024

// stateOf returns the state of a KubernetesApplicationResource after a pass.
func stateOf(p *pass, err error) workloadv1alpha1.State {
	last, reason := p.before.Status, targetresource.CauseOf(err).Reason
	submitted := last.State == workloadv1alpha1.StateSubmitted && last.ObservedGeneration == p.resource.GetGeneration()
	switch {
	case meta.WasDeleted(p.resource):
		return workloadv1alpha1.StateDeleting
	case p.resource.Spec.ClusterRef == nil:
		return workloadv1alpha1.StatePending
	case p.current, err == nil && submitted:
		return workloadv1alpha1.StateSubmitted
	case err != nil && !slices.Contains(waiting, reason):
		return workloadv1alpha1.StateFailed
	case submitted && !p.looked && reason != commonv1.ReasonWaitingForDeletion:
		return workloadv1alpha1.StateSubmitted // As far as is known.
	}
	return workloadv1alpha1.StateScheduled
}

// describe puts into the status what a pass has found.
func describe(p *pass, err error) {
	o := p.resource
	o.Status.State = stateOf(p, err)
	o.Status.ObservedGeneration = o.GetGeneration()
	synced := targetresource.Synced(o, err)
	switch {
	case err != nil:
	case p.unlabelled:
		synced = xpv2.ReconcileError(errors.New(targetresource.MessageUnlabelled))
		synced.Reason = commonv1.ReasonContested
	case o.Status.State == workloadv1alpha1.StatePending:
		synced = xpv2.ReconcileError(errors.New("No cluster yet: the application sets spec.clusterRef after scheduling"))
		synced.Reason = workloadv1alpha1.ReasonUnscheduled
	}
	o.SetConditions(synced.WithObservedGeneration(o.GetGeneration()),
		ready(o.Status.State).WithObservedGeneration(o.GetGeneration()))
	health := readiness.Health{Reason: commonv1.ReasonProgressing, Message: messageNotSubmitted}
	submitted := o.Status.State == workloadv1alpha1.StateSubmitted
	if submitted && p.live != nil {
		health = readiness.HealthOf(p.live, p.remote.Mapping.Status)
	}
	if !submitted || p.looked { // Else it stays as it was last known.
		o.SetConditions(commonv1.Health(health.Reason, managedadapter.Clip(health.Message, messageBytes)).
			WithObservedGeneration(o.GetGeneration()))
	}
	if p.looked {
		showRemote(p)
	}
}

// ready returns condition Ready in a state.
func ready(s workloadv1alpha1.State) xpv2.Condition {
	switch s { //nolint:exhaustive // The others are those of a resource that is not there.
	case workloadv1alpha1.StateSubmitted:
		return xpv2.Available()
	case workloadv1alpha1.StateDeleting:
		return xpv2.Deleting()
	}
	return xpv2.Unavailable().WithMessage(messageNotSubmitted)
}

// showRemote copies the status of the live resource, unless that is what the status shows already, or is known to be
// too large to show.
func showRemote(p *pass) {
	var now any
	if p.live != nil {
		now = p.live.Object["status"]
	}
	st := &p.resource.Status
	if now == nil {
		st.Remote, st.OmittedBytes = nil, 0
		return
	}
	if st.Remote != nil {
		var shown any
		if utiljson.Unmarshal(st.Remote.Raw, &shown) == nil && equality.Semantic.DeepEqual(shown, now) {
			return
		}
	}
	raw, _ := json.Marshal(now) //nolint:errchkjson // It comes from JSON.
	if st.OmittedBytes > 0 && int64(len(raw)) >= st.OmittedBytes {
		return // Only when it is smaller it may fit.
	}
	st.Remote, st.OmittedBytes = &apiextensionsv1.JSON{Raw: raw}, 0
	if len(raw)+len(p.resource.Spec.Template.Raw) > managedadapter.FitsMost {
		omit(p.resource)
	}
}

// omit leaves the status of the live resource out, and reports whether it was there.
func omit(o *resource) bool {
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
