package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of ObservedObjectCollections that other software, and members made by provider-kubernetes, rely on.
const (
	// CollectionKind is the kind of ObservedObjectCollection in every group.
	CollectionKind = "ObservedObjectCollection"

	// LabelKeyCollection is the label on each member of a collection. Its value is the name of the collection.
	LabelKeyCollection = "kubernetes.crossplane.io/owned-by-collection"

	// FieldManagerCollection is the field manager that members are applied with.
	FieldManagerCollection = "kubernetes.crossplane.io/observed-object-collection-controller"
)

// Reasons of condition Synced of ObservedObjectCollections, beside those of Objects.
const (
	// ReasonInvalidSelection means that spec.observeObjects cannot be used as it is.
	ReasonInvalidSelection xpv2.ConditionReason = "InvalidSelection"
	// ReasonInvalidTemplate means that the control plane refuses the members that spec.objectTemplate makes.
	ReasonInvalidTemplate xpv2.ConditionReason = "InvalidTemplate"
	// ReasonNameTaken means that an Object which is no member bears the name of one, or that another controller has a
	// resource of the name that an application gives to one of its own.
	ReasonNameTaken xpv2.ConditionReason = "NameTaken"
)

// ObservedObjectCollectionSpec is the part of an ObservedObjectCollection's spec that both scopes share.
type ObservedObjectCollectionSpec struct {
	// observeObjects decides which resources on the target are members of the collection.
	ObserveObjects ObserveObjects `json:"observeObjects"`

	// objectTemplate decides what the Objects that stand for the members are given.
	// +optional
	Template *ObservedObjectTemplate `json:"objectTemplate,omitempty"`
}

// ObserveObjects selects resources of one kind on a target.
type ObserveObjects struct {
	// apiVersion of the resources.
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`

	// kind of the resources.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`

	// namespace of the resources. The default is all namespaces. It has no meaning for kinds that are not namespaced.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// selector selects the resources by their labels. An empty selector selects all of them.
	Selector metav1.LabelSelector `json:"selector"`
}

// ObservedObjectTemplate is what each Object of a collection is given.
type ObservedObjectTemplate struct {
	// metadata of the Objects.
	// +optional
	Metadata ObservedObjectTemplateMetadata `json:"metadata,omitempty"`
}

// ObservedObjectTemplateMetadata are the labels and annotations that each Object of a collection is given.
type ObservedObjectTemplateMetadata struct {
	// labels of the Objects. They cannot change the label that names the collection of an Object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the Objects.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ObservedObjectCollectionStatus is the observed state of an ObservedObjectCollection, in either scope.
type ObservedObjectCollectionStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// membershipLabel is the label on each Object of the collection, by which they can be listed.
	// +optional
	MembershipLabel map[string]string `json:"membershipLabel,omitempty"`

	// members is the number of Objects of the collection, after its last reconcile that went well.
	// +optional
	Members int64 `json:"members"`

	// templateHash is the hexadecimal SHA-256 of the objectTemplate that all Objects of the collection were last given.
	// +optional
	TemplateHash string `json:"templateHash,omitempty"`
}
