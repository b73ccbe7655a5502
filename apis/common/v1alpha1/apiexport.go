package v1alpha1

// An APIExport names the APIExport of a kcp workspace that published APIs join.
type APIExport struct {
	// name of the APIExport. The default is the one that the APIExportEndpointSlice belongs to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// endpointSlice is the name of the APIExportEndpointSlice that lists where the objects of consumers are reached.
	// The default is the name of the APIExport, as kcp makes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EndpointSlice string `json:"endpointSlice,omitempty"`

	// create creates the APIExport if it does not exist. The default is false.
	// +optional
	Create *bool `json:"create,omitempty"`

	// maximalPermissionPolicy is set on an APIExport that the provider creates. It limits what consumers may do with its
	// APIs. The default is none.
	// +optional
	MaximalPermissionPolicy *MaximalPermissionPolicy `json:"maximalPermissionPolicy,omitempty"`

	// claimVerbs are the verbs that permission claims ask for: All asks for every verb, as api-syncagent does, Needed only
	// for those that are used. Consumers must accept the same verbs. The default is that of the ProviderConfig for a
	// PublishedResource, and else All.
	// +optional
	// +kubebuilder:validation:Enum=All;Needed
	ClaimVerbs ClaimVerbs `json:"claimVerbs,omitempty"`
}

// MaximalPermissionPolicy bounds what consumers may do.
type MaximalPermissionPolicy struct {
	// local means that the bounds are the RBAC rules of the workspace of the APIExport, for users and groups with
	// the prefix apis.kcp.io:binding:.
	Local LocalPermissionPolicy `json:"local"`
}

// LocalPermissionPolicy has no options.
type LocalPermissionPolicy struct{}

// ClaimVerbs decides which verbs permission claims ask for.
type ClaimVerbs string

const (
	// ClaimVerbsAll asks for every verb. It is the default.
	ClaimVerbsAll ClaimVerbs = "All"
	// ClaimVerbsNeeded asks for the verbs that are used.
	ClaimVerbsNeeded ClaimVerbs = "Needed"
)
