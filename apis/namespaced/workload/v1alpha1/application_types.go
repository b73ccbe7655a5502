package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// KubernetesApplicationSpec is the desired state of a KubernetesApplication.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterSelector) || has(self.clusterRef)",message="one of clusterSelector and clusterRef must be set"
// +kubebuilder:validation:XValidation:rule="has(self.clusterSelector) == has(oldSelf.clusterSelector)",message="clusterSelector is immutable: delete the application and create it again to move it"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterRef) || has(self.clusterRef)",message="clusterRef is immutable once it is set: delete the application and create it again to move it"
type KubernetesApplicationSpec struct {
	// clusterSelector selects clusters by the labels of the ProviderConfigs in the namespace of the application and of
	// the ClusterProviderConfigs. An empty selector selects all. It cannot be changed, and has no effect after a cluster
	// is chosen.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterSelector is immutable: delete the application and create it again to move it"
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusterRef is the cluster the application is scheduled to. The scheduler sets it. One that is set before
	// overrides the selector. It cannot be changed then.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable once it is set: delete the application and create it again to move it"
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// resourceTemplates are the resources of the application, at most 128, each with a unique name. The group, kind,
	// name and namespace of the resource of a name cannot change until the template is removed.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(o, o.metadata.name == t.metadata.name))",message="metadata.name must be unique among resourceTemplates"
	// +kubebuilder:validation:XValidation:rule="self.all(t, [t.spec.template.apiVersion.split('/')[0]].all(g, oldSelf.all(o, o.metadata.name != t.metadata.name || (o.spec.template.apiVersion.split('/')[0] == g && o.spec.template.kind == t.spec.template.kind && o.spec.template.metadata.name == t.spec.template.metadata.name && has(o.spec.template.metadata.__namespace__) == has(t.spec.template.metadata.__namespace__) && (!has(t.spec.template.metadata.__namespace__) || o.spec.template.metadata.__namespace__ == t.spec.template.metadata.__namespace__)))))",message="group, kind, name and namespace of a template are immutable: remove the template and add another"
	// +listType=atomic
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`

	// unreachableTarget decides what happens to a deleted application whose cluster cannot be reached, for example
	// because it no longer exists. Wait (the default) keeps the application until the cluster responds and its resources
	// are deleted. Orphan removes the application and keeps the resources, if they still exist.
	// +optional
	// +kubebuilder:default=Wait
	// +kubebuilder:validation:Enum=Wait;Orphan
	UnreachableTarget commonv1.UnreachableTargetPolicy `json:"unreachableTarget,omitempty"`
}

// A ResourceTemplate is the template of a KubernetesApplicationResource.
type ResourceTemplate struct {
	// metadata of the KubernetesApplicationResource.
	Metadata ResourceTemplateMetadata `json:"metadata"`

	// spec of the KubernetesApplicationResource.
	Spec ResourceTemplateSpec `json:"spec"`
}

// ResourceTemplateMetadata is the metadata of a templated KubernetesApplicationResource.
type ResourceTemplateMetadata struct {
	// name of the KubernetesApplicationResource, unique among the templates.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// namespace is ignored: a KubernetesApplicationResource is always created in the namespace of its application.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// labels of the KubernetesApplicationResource.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the KubernetesApplicationResource.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// KubernetesApplicationStatus is the observed state of a KubernetesApplication.
type KubernetesApplicationStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// state describes how far the application has come.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Scheduled;PartiallySubmitted;Submitted;Failed;Deleting
	State State `json:"state,omitempty"`

	// desiredResources is the number of resource templates.
	// +optional
	DesiredResources int64 `json:"desiredResources"`

	// submittedResources is how many of the resources are submitted to the cluster as their templates are now.
	// +optional
	SubmittedResources int64 `json:"submittedResources"`
}

// A KubernetesApplication manages a set of resources on one cluster, which it chooses by label.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,kubernetes},shortName=kapp
// +kubebuilder:selectablefield:JSONPath=".spec.clusterRef.name"
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=".spec.clusterRef.name"
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.state"
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desiredResources"
// +kubebuilder:printcolumn:name="SUBMITTED",type="integer",JSONPath=".status.submittedResources"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status",priority=1
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="HEALTHY",type="string",JSONPath=".status.conditions[?(@.type=='Healthy')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.message)].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.message)].message",priority=1
type KubernetesApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KubernetesApplicationSpec   `json:"spec"`
	Status KubernetesApplicationStatus `json:"status,omitempty"`
}

// KubernetesApplicationList is a list of KubernetesApplications.
//
// +kubebuilder:object:root=true
type KubernetesApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KubernetesApplication `json:"items"`
}
