package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProviderConfigSpec describes how a cluster or a kcp workspace is reached, and as whom.
//
// +kubebuilder:validation:XValidation:rule="!has(self.identity) || self.credentials.source != 'ServiceAccount'",message="identity cannot be set if credentials.source is ServiceAccount: remove one"
type ProviderConfigSpec struct {
	// credentials describes the source of the kubeconfig, or the user of the control plane if that is the target.
	Credentials ProviderCredentials `json:"credentials"`

	// identity adds credentials of a cloud provider to the kubeconfig.
	// +optional
	Identity *Identity `json:"identity,omitempty"`

	// kcp directs the kubeconfig to a workspace of kcp.
	// +optional
	KCP *KCPConnection `json:"kcp,omitempty"`

	// impersonate decides which user the provider impersonates on the target, so that each tenant of a shared connection
	// has its own permissions. The credentials need permission to impersonate.
	// +optional
	Impersonate *Impersonation `json:"impersonate,omitempty"`
}

// AllowedNamespaces are namespaces of the control plane whose resources may use a ClusterProviderConfig.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) != has(self.selector)",message="exactly one of names and selector must be set"
type AllowedNamespaces struct {
	// names are the names of namespaces. A namespace that is deleted and recreated keeps its permission.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`

	// selector selects namespaces by their labels. An empty one selects all. The provider needs permission to get, list
	// and watch namespaces.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// Impersonation says as whom requests are made on a target.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.serviceAccountName)",message="exactly one of user and serviceAccountName must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.groups) || has(self.user)",message="groups can only be set together with user"
type Impersonation struct {
	// user is the name of the user.
	// +optional
	// +kubebuilder:validation:MinLength=1
	User string `json:"user,omitempty"`

	// groups are the groups of the user.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`

	// serviceAccountName is the name of a ServiceAccount of the target, in the namespace of the same name as that of
	// the Object. Cluster-scoped Objects cannot use it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ProviderConfigStatus is the observed state of a ProviderConfig of either scope.
type ProviderConfigStatus struct {
	xpv2.ProviderConfigStatus `json:",inline"`

	// server is the URL of the target that the provider has connected to last, without credentials.
	// +optional
	Server string `json:"server,omitempty"`

	// serverVersion is the version of Kubernetes that the target reported when the provider connected to it last, for
	// example v1.36.1. It is empty if the target reported none.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// KCPConnection points a kubeconfig at one workspace of a kcp.
type KCPConnection struct {
	// workspacePath is the path of the workspace, for example root:org:team, or the name of its logical cluster. A path
	// in the kubeconfig's server URL that names a workspace is replaced. The default is that path.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(:[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	WorkspacePath string `json:"workspacePath,omitempty"`

	// apiExport is the APIExport of PublishedResources that name no other one.
	// +optional
	APIExport *APIExport `json:"apiExport,omitempty"`

	// agentName is the agentName of PublishedResources that have none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	AgentName string `json:"agentName,omitempty"`
}

// ProviderCredentials describes where credentials come from.
//
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="secretRef must be set if source is Secret"
// +kubebuilder:validation:XValidation:rule="self.source != 'Environment' || has(self.env)",message="env must be set if source is Environment"
// +kubebuilder:validation:XValidation:rule="self.source != 'Filesystem' || has(self.fs)",message="fs must be set if source is Filesystem"
// +kubebuilder:validation:XValidation:rule="has(self.serviceAccountRef) == (self.source == 'ServiceAccount')",message="serviceAccountRef must be set if source is ServiceAccount, and must not be set for other sources"
type ProviderCredentials struct {
	xpv2.CommonCredentialSelectors `json:",inline"`

	// source of the credentials: Secret, Environment and Filesystem provide a kubeconfig, of which the current context
	// is used. InjectedIdentity is the ServiceAccount of the provider on the cluster where it runs. ServiceAccount is
	// another one of that cluster, which is then the target. None means no credentials, which only some identities
	// allow.
	// +kubebuilder:validation:Enum=None;Secret;InjectedIdentity;Environment;Filesystem;ServiceAccount
	Source xpv2.CredentialsSource `json:"source"`

	// serviceAccountRef names the ServiceAccount of the control plane for source ServiceAccount. The provider needs
	// permission to create serviceaccounts/token for it. It cannot be used with an identity.
	// +optional
	ServiceAccountRef *ServiceAccountReference `json:"serviceAccountRef,omitempty"`
}

// CredentialsSourceServiceAccount is the control plane itself, as a ServiceAccount of it.
const CredentialsSourceServiceAccount xpv2.CredentialsSource = "ServiceAccount"

// ServiceAccountReference names a ServiceAccount of the control plane.
type ServiceAccountReference struct {
	// name of the ServiceAccount.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// namespace of the ServiceAccount. A namespaced ProviderConfig cannot set it: the ServiceAccount is in its own
	// namespace. All others must.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// IdentityType is a kind of cloud identity.
type IdentityType string

const (
	// IdentityGoogle authenticates to GKE with Google application credentials.
	IdentityGoogle IdentityType = "GoogleApplicationCredentials"
	// IdentityAzureServicePrincipal authenticates to AKS with a service principal.
	IdentityAzureServicePrincipal IdentityType = "AzureServicePrincipalCredentials"
	// IdentityAzureWorkload authenticates to AKS with a federated token.
	IdentityAzureWorkload IdentityType = "AzureWorkloadIdentityCredentials"
	// IdentityUpbound authenticates to an Upbound control plane with a token.
	IdentityUpbound IdentityType = "UpboundTokens"
	// IdentityAWSWeb authenticates to EKS with the default AWS credential chain.
	IdentityAWSWeb IdentityType = "AWSWebIdentityCredentials"
	// IdentityNebius authenticates to Nebius with a service account key. It is accepted and not built in.
	IdentityNebius IdentityType = "NebiusServiceAccountCredentials"
)

// Identity adds credentials of a cloud provider to a kubeconfig.
//
// +kubebuilder:validation:XValidation:rule="self.source != 'ServiceAccount'",message="source ServiceAccount cannot be used in identity: set it in credentials"
// +kubebuilder:validation:XValidation:rule="!has(self.aws) || (self.type == 'AWSWebIdentityCredentials' && self.source == 'InjectedIdentity')",message="aws can only be set for type AWSWebIdentityCredentials with source InjectedIdentity"
// +kubebuilder:validation:XValidation:rule="!has(self.impersonateServiceAccount) || self.type == 'GoogleApplicationCredentials'",message="impersonateServiceAccount can only be set for type GoogleApplicationCredentials"
type Identity struct {
	ProviderCredentials `json:",inline"`

	// type of the identity. NebiusServiceAccountCredentials is accepted for compatibility with provider-kubernetes and
	// not supported: condition Ready of the ProviderConfig reports it.
	// +kubebuilder:validation:Enum=GoogleApplicationCredentials;AzureServicePrincipalCredentials;AzureWorkloadIdentityCredentials;UpboundTokens;AWSWebIdentityCredentials;NebiusServiceAccountCredentials
	Type IdentityType `json:"type"`

	// aws specifies the roles of AWS that the provider assumes. It requires type AWSWebIdentityCredentials and source
	// InjectedIdentity.
	// +optional
	AWS *AWSIdentity `json:"aws,omitempty"`

	// impersonateServiceAccount names the service account of Google that the target expects, if it is not that of the
	// credentials. It requires type GoogleApplicationCredentials. Each service account costs one request to Google per
	// hour.
	// +optional
	ImpersonateServiceAccount *GoogleImpersonation `json:"impersonateServiceAccount,omitempty"`
}

// GoogleImpersonation says as which service account of Google the provider acts.
type GoogleImpersonation struct {
	// name is the email address of the service account. The owner of the credentials, or the last delegate, needs role
	// roles/iam.serviceAccountTokenCreator on it.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$`
	Name string `json:"name"`

	// delegates are the email addresses of service accounts in between. The default is none. The owner of the
	// credentials needs the role on the first one, and each delegate on the next one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$`
	Delegates []string `json:"delegates,omitempty"`
}

// AWSIdentity says as which roles of AWS the provider acts.
type AWSIdentity struct {
	// assumeRoleChain are the roles that the provider assumes in sequence: the first with its own credentials, each next
	// one with those of the previous role. The target knows the provider by the last role. The default is none. Each
	// role costs one request to AWS every 14 minutes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	AssumeRoleChain []AWSRole `json:"assumeRoleChain,omitempty"`
}

// AWSRole is a role of AWS, and how it is assumed. The name of the session is provider-kcp.
type AWSRole struct {
	// roleARN is the ARN of the role. Its trust policy must allow the previous role in the chain.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[!-~]+$`
	RoleARN string `json:"roleARN"`

	// externalID is the value that the trust policy of the role requires as sts:ExternalId. The default is none.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
	ExternalID string `json:"externalID,omitempty"`

	// tags are the tags of the session. The trust policy must allow sts:TagSession.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=50
	Tags []AWSTag `json:"tags,omitempty"`

	// transitiveTagKeys are the keys of the tags that the sessions of the next roles inherit.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	TransitiveTagKeys []string `json:"transitiveTagKeys,omitempty"`
}

// AWSTag is a tag of a session of AWS.
type AWSTag struct {
	// key of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Key string `json:"key"`

	// value of the tag.
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
}

// A Connection is what a ProviderConfig says, and by whose word.
//
// +kubebuilder:object:generate=false
type Connection struct {
	// Spec of the ProviderConfig.
	Spec *ProviderConfigSpec
	// Tenant is the namespace of the ProviderConfig. Anyone who can write there is not trusted with the provider's own
	// credentials. It is empty for a cluster-scoped ProviderConfig, which operators write.
	Tenant string
	// Shared is set if it is a ClusterProviderConfig, which resources of several namespaces may use.
	Shared *Sharing
	// Endpoint is a URL that the cluster has named as another address of its own, such as that of a virtual workspace of
	// kcp. It is reached with the same credentials. It is empty for the cluster itself.
	Endpoint string
}

// A Sharing says who may use a ClusterProviderConfig.
type Sharing struct {
	// Name of the ClusterProviderConfig.
	Name string
	// Allowed are the namespaces whose resources may use it. Nil means that it does not say; an empty list allows none.
	Allowed []AllowedNamespaces
}

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
