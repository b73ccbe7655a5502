package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// ResourceTemplateSpec is the part of the spec of a KubernetesApplicationResource that an application templates.
type ResourceTemplateSpec struct {
	// template is the resource to manage on the cluster.
	Template Template `json:"template"`

	// secrets are Secrets in the namespace of the KubernetesApplicationResource that the resource needs, such as
	// the connection secrets of managed resources. Each is propagated to the namespace of the template, under
	// the name <KubernetesApplicationResource>-<Secret>.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Secrets []SecretReference `json:"secrets,omitempty"`
}

// A SecretReference names a Secret of the namespace.
type SecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// KubernetesApplicationResourceSpec is the desired state of a KubernetesApplicationResource.
//
// +kubebuilder:validation:XValidation:rule="self.template.apiVersion.split('/')[0] == oldSelf.template.apiVersion.split('/')[0]",message="the group in template.apiVersion is immutable: create another KubernetesApplicationResource"
// +kubebuilder:validation:XValidation:rule="self.template.kind == oldSelf.template.kind",message="template.kind is immutable: create another KubernetesApplicationResource"
// +kubebuilder:validation:XValidation:rule="self.template.metadata.name == oldSelf.template.metadata.name",message="template.metadata.name is immutable: create another KubernetesApplicationResource"
// +kubebuilder:validation:XValidation:rule="has(self.template.metadata.__namespace__) == has(oldSelf.template.metadata.__namespace__) && (!has(self.template.metadata.__namespace__) || self.template.metadata.__namespace__ == oldSelf.template.metadata.__namespace__)",message="template.metadata.namespace is immutable: create another KubernetesApplicationResource"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterRef) || has(self.clusterRef)",message="clusterRef is immutable once it is set: create another KubernetesApplicationResource"
type KubernetesApplicationResourceSpec struct {
	ResourceTemplateSpec `json:",inline"`

	// clusterRef is the cluster the resource is scheduled to. An application sets it for its resources. It cannot
	// be changed then.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable once it is set: create another KubernetesApplicationResource"
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// unreachableTarget decides what happens to a deleted KubernetesApplicationResource whose cluster cannot be reached.
	// Wait (the default) keeps it until the cluster responds and the resource is deleted. Orphan removes it and keeps
	// the resource, if it still exists. An application sets this field for its resources.
	// +optional
	// +kubebuilder:default=Wait
	// +kubebuilder:validation:Enum=Wait;Orphan
	UnreachableTarget commonv1.UnreachableTargetPolicy `json:"unreachableTarget,omitempty"`
}

// KubernetesApplicationResourceStatus is the observed state of a KubernetesApplicationResource.
type KubernetesApplicationResourceStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// state describes how far the resource has come.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Scheduled;Submitted;Failed;Deleting
	State State `json:"state,omitempty"`

	// remote is the status of the resource on the cluster. It is not set if the resource has no status.
	// +optional
	Remote *apiextensionsv1.JSON `json:"remote,omitempty"`

	// omittedBytes is the size of the status of the resource, in bytes, if remote does not show it: with it the
	// KubernetesApplicationResource would be too large for the control plane.
	// +optional
	OmittedBytes int64 `json:"omittedBytes,omitempty"`

	// submitted identifies what was last submitted. While it matches, nothing is sent to the cluster.
	// +optional
	Submitted *SubmittedRecord `json:"submitted,omitempty"`

	// secrets are the names of the Secrets, in the namespace of the KubernetesApplicationResource, that may
	// have been propagated.
	// +optional
	// +listType=set
	Secrets []string `json:"secrets,omitempty"`
}

// A SubmittedRecord identifies a resource that was submitted, and the fields that were set.
type SubmittedRecord struct {
	// uid of the resource on the cluster.
	UID types.UID `json:"uid"`

	// manifestHash is the hexadecimal SHA-256 of what was submitted.
	ManifestHash string `json:"manifestHash"`

	// fieldsHash is the hexadecimal SHA-256 of the fields of the resource on the cluster that were set,
	// with their values.
	FieldsHash string `json:"fieldsHash"`
}

// A KubernetesApplicationResource manages one resource on a cluster, and shows its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,kubernetes},shortName=kappres
// +kubebuilder:selectablefield:JSONPath=".spec.clusterRef.name"
// +kubebuilder:printcolumn:name="TEMPLATE-KIND",type="string",JSONPath=".spec.template.kind"
// +kubebuilder:printcolumn:name="TEMPLATE-NAME",type="string",JSONPath=".spec.template.metadata.name"
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=".spec.clusterRef.name"
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.state"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status",priority=1
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="HEALTHY",type="string",JSONPath=".status.conditions[?(@.type=='Healthy')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.message)].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.message)].message",priority=1
type KubernetesApplicationResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KubernetesApplicationResourceSpec   `json:"spec"`
	Status KubernetesApplicationResourceStatus `json:"status,omitempty"`
}

// KubernetesApplicationResourceList is a list of KubernetesApplicationResources.
//
// +kubebuilder:object:root=true
type KubernetesApplicationResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KubernetesApplicationResource `json:"items"`
}
