package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1"}
	// ProviderConfigGroupVersionKind is the kind ProviderConfig.
	ProviderConfigGroupVersionKind = GroupVersion.WithKind("ProviderConfig")
	// ClusterProviderConfigGroupVersionKind is the kind ClusterProviderConfig.
	ClusterProviderConfigGroupVersionKind = GroupVersion.WithKind("ClusterProviderConfig")
	// ProviderConfigUsageGroupVersionKind is the kind ProviderConfigUsage.
	ProviderConfigUsageGroupVersionKind = GroupVersion.WithKind("ProviderConfigUsage")
	// ProviderConfigUsageListGroupVersionKind is the kind ProviderConfigUsageList.
	ProviderConfigUsageListGroupVersionKind = GroupVersion.WithKind("ProviderConfigUsageList")
)

// A ProviderConfig describes the connection to a cluster or a kcp workspace, and its user, for the resources of its
// namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,provider,kubernetes},shortName=kpc
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="TARGET",type="string",JSONPath=".status.server"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.serverVersion",priority=1
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="SECRET-NAME",type="string",JSONPath=".spec.credentials.secretRef.name",priority=1
// +kubebuilder:printcolumn:name="WORKSPACE",type="string",JSONPath=".spec.kcp.workspacePath",priority=1
// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials.serviceAccountRef) || !has(self.spec.credentials.serviceAccountRef.__namespace__)",message="spec.credentials.serviceAccountRef.namespace cannot be set: the ServiceAccount is in the namespace of the ProviderConfig"
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   commonv1.ProviderConfigSpec   `json:"spec"`
	Status commonv1.ProviderConfigStatus `json:"status,omitempty"`
}

// ProviderConfigList is a list of ProviderConfigs.
//
// +kubebuilder:object:root=true
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}

// ClusterProviderConfigSpec describes how a cluster or a kcp workspace is reached, as whom, and by whose resources.
type ClusterProviderConfigSpec struct {
	commonv1.ProviderConfigSpec `json:",inline"`

	// allowedNamespaces are the namespaces whose resources may use the ClusterProviderConfig: those that at least one
	// entry names or selects. By default all may, and none if the provider runs with
	// --restrict-cluster-provider-configs. Cluster-scoped resources may use it in any case.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	AllowedNamespaces []commonv1.AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// A ClusterProviderConfig describes the connection to a cluster or a kcp workspace, and its user, for the resources
// of several namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,provider,kubernetes},shortName=kclusterpc
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="TARGET",type="string",JSONPath=".status.server"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.serverVersion",priority=1
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="SECRET-NAME",type="string",JSONPath=".spec.credentials.secretRef.name",priority=1
// +kubebuilder:printcolumn:name="WORKSPACE",type="string",JSONPath=".spec.kcp.workspacePath",priority=1
// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials.serviceAccountRef) || has(self.spec.credentials.serviceAccountRef.__namespace__)",message="spec.credentials.serviceAccountRef.namespace must be set"
type ClusterProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterProviderConfigSpec     `json:"spec"`
	Status commonv1.ProviderConfigStatus `json:"status,omitempty"`
}

// ClusterProviderConfigList is a list of ClusterProviderConfigs.
//
// +kubebuilder:object:root=true
type ClusterProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterProviderConfig `json:"items"`
}

// A ProviderConfigUsage records that a resource uses a ProviderConfig, which therefore cannot be deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,provider,kubernetes},shortName=kpcusage
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONFIG-NAME",type="string",JSONPath=".providerConfigRef.name"
// +kubebuilder:printcolumn:name="RESOURCE-KIND",type="string",JSONPath=".resourceRef.kind"
// +kubebuilder:printcolumn:name="RESOURCE-NAME",type="string",JSONPath=".resourceRef.name"
type ProviderConfigUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	xpv2.TypedProviderConfigUsage `json:",inline"`
}

// ProviderConfigUsageList is a list of ProviderConfigUsages.
//
// +kubebuilder:object:root=true
type ProviderConfigUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfigUsage `json:"items"`
}
