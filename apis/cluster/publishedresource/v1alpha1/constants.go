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
