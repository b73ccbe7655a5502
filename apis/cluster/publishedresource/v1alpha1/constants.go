package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Names that api-syncagent uses, and that stay what they are so that its work can be taken over.
const (
	// LabelKeyAgentName is the label with the name of the owner: on schemas in kcp and on objects of
	// the service cluster.
	LabelKeyAgentName = "syncagent.kcp.io/agent-name"

	// AnnotationKeyAgentName is the annotation with the name of the owner, on schemas and APIExports.
	AnnotationKeyAgentName = "syncagent.kcp.io/agent-name"

	// AnnotationKeySourceGeneration is the annotation on a schema with the generation of the CustomResourceDefinition
	// it was made from.
	AnnotationKeySourceGeneration = "syncagent.kcp.io/source-generation"
)

// AnnotationKeySourceHash is the annotation on a schema with a hash of the CustomResourceDefinition that it comes from.
const AnnotationKeySourceHash = "syncagent.kcp.io/source-hash"

// Types of conditions beside Synced and Ready.
const (
	// TypeSchemaPublished decides whether kcp has the APIResourceSchema of the API as it is now.
	TypeSchemaPublished xpv2.ConditionType = "SchemaPublished"
	// TypeExportUpdated decides whether the APIExport offers that schema and makes the claims it needs.
	TypeExportUpdated xpv2.ConditionType = "ExportUpdated"
	// TypeEndpointsReady decides whether there are endpoints, and each serves the API.
	TypeEndpointsReady xpv2.ConditionType = "EndpointsReady"
	// TypeClaimsAccepted decides whether all workspaces that have bound the API have accepted its permission claims.
	TypeClaimsAccepted xpv2.ConditionType = "ClaimsAccepted"
)

// Reasons of condition SchemaPublished, beside those for which an API cannot be projected: see package projection.
const (
	// ReasonPublished means that kcp has the schema of the API as it is now.
	ReasonPublished xpv2.ConditionReason = "Published"
	// ReasonNotPublished means that kcp does not have it yet.
	ReasonNotPublished xpv2.ConditionReason = "NotPublished"
	// ReasonSourceMissing means that the service cluster does not have the API. What is published stays as it is.
	ReasonSourceMissing xpv2.ConditionReason = "SourceMissing"
	// ReasonAlreadyPublished means that another PublishedResource offers the same resource in the same APIExport.
	ReasonAlreadyPublished xpv2.ConditionReason = "AlreadyPublished"
	// ReasonIncompatibleChange means that schemaUpdates holds back what the API is now, as objects of consumers may not
	// fit. What is published stays as it is. It is also a reason of condition Synced.
	ReasonIncompatibleChange xpv2.ConditionReason = "IncompatibleChange"
)

// Reasons of condition ExportUpdated.
const (
	// ReasonUpdated means that the APIExport offers the schema and makes the claims it needs.
	ReasonUpdated xpv2.ConditionReason = "Updated"
	// ReasonNotUpdated means that it does not yet.
	ReasonNotUpdated xpv2.ConditionReason = "NotUpdated"
	// ReasonExportMissing means that there is no APIExport, and it is not to be created.
	ReasonExportMissing xpv2.ConditionReason = "ExportMissing"
	// ReasonNoIdentity means that kcp has not given the APIExport its identity yet, so that nobody can bind it.
	ReasonNoIdentity xpv2.ConditionReason = "NoIdentity"
)

// Reasons of condition EndpointsReady.
const (
	// ReasonServing means that each endpoint serves the API.
	ReasonServing xpv2.ConditionReason = "Serving"
	// ReasonNotBound means that no workspace has bound the APIExport yet. It is also a reason of condition
	// ClaimsAccepted.
	ReasonNotBound xpv2.ConditionReason = "NotBound"
	// ReasonEndpointSliceMissing means that there is no APIExportEndpointSlice.
	ReasonEndpointSliceMissing xpv2.ConditionReason = "EndpointSliceMissing"
	// ReasonNotServing means that an endpoint does not answer, does not accept the credentials, or does not serve
	// the API yet. It is also a reason of condition ClaimsAccepted.
	ReasonNotServing xpv2.ConditionReason = "NotServing"
)

// Reasons of condition ClaimsAccepted.
const (
	// ReasonAccepted means that all workspaces that have bound the API have accepted all claims.
	ReasonAccepted xpv2.ConditionReason = "Accepted"
	// ReasonPending means that the workspaces in the message have not.
	ReasonPending xpv2.ConditionReason = "Pending"
)

// Reasons of condition Synced beside those of package common.
const (
	// ReasonInvalidSpec means that the spec and the ProviderConfig together do not say what to publish.
	ReasonInvalidSpec xpv2.ConditionReason = "InvalidSpec"
	// ReasonIdentityHashMissing means that the spec does not say which APIExport offers a related resource.
	ReasonIdentityHashMissing xpv2.ConditionReason = "IdentityHashMissing"
	// ReasonWorkspaceDeleted means that what was published has gone because the workspace of the APIExport
	// is being deleted.
	ReasonWorkspaceDeleted xpv2.ConditionReason = "WorkspaceDeleted"
	// ReasonObjectsNotSynced means that the API is published and none of the objects of consumers can be synced.
	ReasonObjectsNotSynced xpv2.ConditionReason = "ObjectsNotSynced"
	// ReasonConsumersLeft means that a deleted PublishedResource is kept as consumers still have objects of the API.
	ReasonConsumersLeft xpv2.ConditionReason = "ConsumersHaveObjects"
)
