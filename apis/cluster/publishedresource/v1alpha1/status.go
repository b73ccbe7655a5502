package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// PublishedResourceStatus is the observed state of a PublishedResource.
type PublishedResourceStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// resourceSchemaName is the name of the APIResourceSchema of the published API.
	// +optional
	ResourceSchemaName string `json:"resourceSchemaName,omitempty"`

	// apiExport is the name of the APIExport that offers the API.
	// +optional
	APIExport string `json:"apiExport,omitempty"`

	// agentName is the owner that objects of consumers have been synced with. It does not change, as all copies have it.
	// +optional
	AgentName string `json:"agentName,omitempty"`

	// endpoints are where the objects of consumers are reached, one for each shard of kcp that has bound workspaces.
	// +optional
	// +listType=map
	// +listMapKey=url
	Endpoints []Endpoint `json:"endpoints,omitempty"`

	// workspaces counts the workspaces that use the API.
	// +optional
	Workspaces *WorkspaceCounts `json:"workspaces,omitempty"`

	// claims counts the permission claims, over all workspaces that have bound the API.
	// +optional
	Claims *ClaimCounts `json:"claims,omitempty"`

	// objects counts the objects of consumers, over all workspaces. Absent while none are synced.
	// +optional
	Objects *ObjectCounts `json:"objects,omitempty"`
}

// An Endpoint is where objects of consumers are reached.
type Endpoint struct {
	// url of the virtual workspace.
	URL string `json:"url"`
}

// WorkspaceCounts counts workspaces.
type WorkspaceCounts struct {
	// bound is the number of workspaces that have bound the API.
	Bound int64 `json:"bound"`
}

// ClaimCounts counts permission claims.
type ClaimCounts struct {
	// accepted is the number of claims that consumers have accepted.
	Accepted int64 `json:"accepted"`

	// total is the number of claims that consumers are asked to accept.
	Total int64 `json:"total"`

	// pending names the workspaces that have not accepted all claims, the first 20 of them in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=workspace
	Pending []PendingClaims `json:"pending,omitempty"`
}

// PendingClaims are the claims a workspace has not accepted.
type PendingClaims struct {
	// workspace is the path of the workspace, or the name of its logical cluster if the path is not known.
	Workspace string `json:"workspace"`

	// claims are the claimed resources, each as resource.group.
	// +listType=set
	Claims []string `json:"claims"`
}

// ObjectCounts counts objects of consumers.
type ObjectCounts struct {
	// synced is the number of objects whose copy on the service cluster is up to date.
	Synced int64 `json:"synced"`

	// failed is the number of objects that cannot be synced.
	Failed int64 `json:"failed"`

	// failures lists the workspaces with such objects, the first 20 of them in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=workspace
	Failures []WorkspaceFailures `json:"failures,omitempty"`

	// orphaned is the number of copies on the service cluster that are kept although their objects are not synced: the
	// objects disappeared without a deletion, or no longer match the filter. Such a copy has label
	// syncagent.kcp.io/orphaned.
	// +optional
	Orphaned int64 `json:"orphaned,omitempty"`

	// orphans lists the workspaces of such copies, the first 20 of them in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=workspace
	Orphans []WorkspaceOrphans `json:"orphans,omitempty"`
}

// WorkspaceOrphans counts the orphaned copies of a workspace.
type WorkspaceOrphans struct {
	// workspace is the path of the workspace, or the name of its logical cluster if the path is not known.
	Workspace string `json:"workspace"`

	// copies is the number of copies.
	Copies int64 `json:"copies"`
}

// WorkspaceFailures describes the objects of a workspace that cannot be synced.
type WorkspaceFailures struct {
	// workspace is the path of the workspace, or the name of its logical cluster if the path is not known.
	Workspace string `json:"workspace"`

	// failed is the number of such objects.
	Failed int64 `json:"failed"`

	// object is the namespace and name of one of them.
	Object string `json:"object"`

	// message says why that one cannot be synced.
	Message string `json:"message"`
}
