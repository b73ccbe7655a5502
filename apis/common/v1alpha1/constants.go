package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Names that other software, and our own earlier versions, rely on.
const (
	// ObjectKind is the kind of Object in every group.
	ObjectKind = "Object"

	// FieldManagerPrefix precedes the name of an Object in the field manager its manifest is applied with. It is the prefix of
	// provider-kubernetes, so that fields applied by it stay ours.
	FieldManagerPrefix = "provider-kubernetes/"

	// LabelKeyManaged is the label on each resource on a target that an Object may change. Its watches select it, so that their
	// memory grows with what is managed and not with what the target holds.
	LabelKeyManaged = "kubernetes.crossplane.io/managed"

	// LabelValueManaged is the value of LabelKeyManaged. It is the same for all Objects, so that several can share a resource.
	LabelValueManaged = "true"
)

// Reasons of condition Synced beside those of crossplane-runtime.
const (
	// ReasonTargetUnreachable means that the target does not answer. Nothing is sent to it until a probe succeeds.
	ReasonTargetUnreachable xpv2.ConditionReason = "TargetUnreachable"
	// ReasonInvalidConnection means that the ProviderConfig or its credentials are missing or unusable.
	ReasonInvalidConnection xpv2.ConditionReason = "InvalidConnection"
	// ReasonUnknownKind means that the target does not serve the kind of the manifest.
	ReasonUnknownKind xpv2.ConditionReason = "UnknownKind"
	// ReasonForbidden means that the target denies the request to the credentials of the ProviderConfig.
	ReasonForbidden xpv2.ConditionReason = "Forbidden"
	// ReasonInvalidManifest means that the manifest cannot be applied as it is.
	ReasonInvalidManifest xpv2.ConditionReason = "InvalidManifest"
)
