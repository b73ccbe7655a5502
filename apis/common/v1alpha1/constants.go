package v1alpha1

import (
	"cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names that other software relies on.
const (
	// ObjectKind is the kind of Object in every group.
	ObjectKind = "Object"

	// FieldManagerPrefix precedes the name of an Object in the field manager its manifest is applied with. It is the
	// prefix of provider-kubernetes, so that fields applied by it stay ours.
	FieldManagerPrefix = "provider-kubernetes/"

	// LabelKeyManaged is the label on each resource on a target that an Object may change. Its watches select it, so
	// that their memory grows with what is managed and not with what the target holds.
	LabelKeyManaged = "kubernetes.crossplane.io/managed"

	// LabelValueManaged is the value of LabelKeyManaged. It is the same for all Objects, so that several can
	// share a resource.
	LabelValueManaged = "true"

	// FinalizerReferredPrefix precedes the UID of an Object in the finalizer on each resource it refers to.
	FinalizerReferredPrefix = "kubernetes.crossplane.io/referred-by-object-"

	// AnnotationKeyDryRun, if "true", makes an Object say what it would change on its target instead of changing it.
	AnnotationKeyDryRun = "kubernetes.crossplane.io/dry-run"

	// AnnotationKeyClaim is written where several replicas share the work, together with the finalizer: the
	// ProviderConfig through which an Object may be about to make a resource that its status does not show yet.
	AnnotationKeyClaim = "kubernetes.crossplane.io/claimed-through"

	// AnnotationKeyRunOnce, if "true", keeps an Object from making its resource again that has gone, such as a Job with
	// ttlSecondsAfterFinished. A change of the manifest has it made once more.
	AnnotationKeyRunOnce = "kubernetes.crossplane.io/run-once"
)

// TypeUpToDate is the condition that reports whether the resource on the target is as the manifest wants it. Only
// Objects that may not apply have it.
const TypeUpToDate xpv2.ConditionType = "UpToDate"

// Reasons of condition UpToDate.
const (
	// ReasonNoDifference means that applying the manifest would change nothing.
	ReasonNoDifference xpv2.ConditionReason = "NoDifference"
	// ReasonDifferent means that applying the manifest would change the fields the message names.
	ReasonDifferent xpv2.ConditionReason = "Different"
	// ReasonCannotCompare means that the target refuses the manifest or the dry run.
	ReasonCannotCompare xpv2.ConditionReason = "CannotCompare"
)

// Reasons of condition Healthy, which applications and their resources have.
const (
	// ReasonHealthy means that the resource works, or all do, as far as their status tells.
	ReasonHealthy xpv2.ConditionReason = "Healthy"
	// ReasonProgressing means that the resource does not work yet, or is not there.
	ReasonProgressing xpv2.ConditionReason = "Progressing"
	// ReasonFailed means that the resource does not work, and is not expected to without a change.
	ReasonFailed xpv2.ConditionReason = "Failed"
	// ReasonUnknown means that the status of the resource cannot be read.
	ReasonUnknown xpv2.ConditionReason = "Unknown"
)

// Health returns condition Healthy for one of its reasons.
func Health(reason xpv2.ConditionReason, message string) xpv2.Condition {
	status := map[xpv2.ConditionReason]corev1.ConditionStatus{
		ReasonHealthy: corev1.ConditionTrue, ReasonUnknown: corev1.ConditionUnknown,
	}
	return xpv2.Condition{
		Type: xpv2.TypeHealthy, Status: cmp.Or(status[reason], corev1.ConditionFalse), Reason: reason, Message: message,
		LastTransitionTime: metav1.Now(),
	}
}

// ReasonTargetAnswers is the reason of condition Ready of a ProviderConfig whose target answers, and is not known to
// refuse the credentials. Other reasons are ReasonTargetUnreachable, ReasonInvalidConnection and ReasonUnauthorized.
const ReasonTargetAnswers xpv2.ConditionReason = "TargetAnswers"

// Reasons of condition Synced beside those of crossplane-runtime.
const (
	// ReasonTargetUnreachable means that the target does not answer. Only probes are sent to it until one succeeds. It is
	// also the reason of condition Ready of a ProviderConfig, and of the event on it.
	ReasonTargetUnreachable xpv2.ConditionReason = "TargetUnreachable"
	// ReasonInvalidConnection means that the ProviderConfig or its credentials are missing or unusable.
	ReasonInvalidConnection xpv2.ConditionReason = "InvalidConnection"
	// ReasonNamespaceNotAllowed means that the ClusterProviderConfig does not allow the namespace of the resource.
	ReasonNamespaceNotAllowed xpv2.ConditionReason = "NamespaceNotAllowed"
	// ReasonUnknownKind means that the target does not serve the kind of the manifest, or is about to stop that.
	ReasonUnknownKind xpv2.ConditionReason = "UnknownKind"
	// ReasonContested means that others change or remove the resource, or LabelKeyManaged on it, again and again.
	ReasonContested xpv2.ConditionReason = "Contested"
	// ReasonFinalizerContested means that others, such as a webhook, undo what the provider does with a finalizer.
	ReasonFinalizerContested xpv2.ConditionReason = "FinalizerContested"
	// ReasonNamespaceTerminating means that the namespace of the resource is being deleted on the target.
	ReasonNamespaceTerminating xpv2.ConditionReason = "NamespaceTerminating"
	// ReasonQuotaExceeded means that a ResourceQuota of the target has no room for the resource.
	ReasonQuotaExceeded xpv2.ConditionReason = "QuotaExceeded"
	// ReasonForbidden means that the target denies the request to the credentials of the ProviderConfig.
	ReasonForbidden xpv2.ConditionReason = "Forbidden"
	// ReasonUnauthorized means that the target does not accept the credentials of the ProviderConfig.
	ReasonUnauthorized xpv2.ConditionReason = "Unauthorized"
	// ReasonNamespaceMissing means that the namespace of the manifest does not exist on the target.
	ReasonNamespaceMissing xpv2.ConditionReason = "NamespaceMissing"
	// ReasonWaitingForReference means that a resource the Object refers to does not exist, is not ready, or
	// lacks a field.
	ReasonWaitingForReference xpv2.ConditionReason = "WaitingForReference"
	// ReasonWaitingForDependents means that a deleted Object keeps its resource until the Objects that refer to
	// it are gone.
	ReasonWaitingForDependents xpv2.ConditionReason = "WaitingForDependents"
	// ReasonInvalidReference means that a reference cannot be resolved as it is written, or names what the Object may
	// not refer to.
	ReasonInvalidReference xpv2.ConditionReason = "InvalidReference"
	// ReasonResourceMissing means that the resource does not exist, and management policies do not allow to create it.
	ReasonResourceMissing xpv2.ConditionReason = "ResourceMissing"
	// ReasonWaitingForDeletion means that the resource, or one that is no longer wanted, is being deleted.
	ReasonWaitingForDeletion xpv2.ConditionReason = "WaitingForDeletion"
	// ReasonReplacing means that the resource which the manifest or the ProviderConfig named before is not gone yet, or
	// the one that onImmutableChange recreates. The one they name now is made after that.
	ReasonReplacing xpv2.ConditionReason = "Replacing"
	// ReasonInvalidManifest means that the manifest cannot be applied as it is.
	ReasonInvalidManifest xpv2.ConditionReason = "InvalidManifest"
)
