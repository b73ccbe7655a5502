package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "kubernetes.crossplane.io", Version: "v1alpha1"}
	// ObservedObjectCollectionGroupVersionKind is the kind ObservedObjectCollection in this version.
	ObservedObjectCollectionGroupVersionKind = GroupVersion.WithKind(commonv1.CollectionKind)
)

// ObservedObjectCollectionSpec is the desired state of an ObservedObjectCollection.
type ObservedObjectCollectionSpec struct {
	commonv1.ObservedObjectCollectionSpec `json:",inline"`

	// providerConfigRef names the ProviderConfig of the target. Each Object of the collection refers to the same one.
	// +optional
	// +kubebuilder:default={"name": "default"}
	ProviderConfigReference *xpv2.Reference `json:"providerConfigRef,omitempty"`
}

// An ObservedObjectCollection creates an observing Object for each resource on a target that its selector matches.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,managed,kubernetes}
// +kubebuilder:selectablefield:JSONPath=".spec.providerConfigRef.name"
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.observeObjects.kind"
// +kubebuilder:printcolumn:name="APIVERSION",type="string",JSONPath=".spec.observeObjects.apiVersion",priority=1
// +kubebuilder:printcolumn:name="PROVIDERCONFIG",type="string",JSONPath=".spec.providerConfigRef.name"
// +kubebuilder:printcolumn:name="MEMBERS",type="integer",JSONPath=".status.members"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.message)].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.message)].message",priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) < 64",message="metadata.name max length is 63"
type ObservedObjectCollection struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ObservedObjectCollectionSpec            `json:"spec"`
	Status commonv1.ObservedObjectCollectionStatus `json:"status,omitempty"`
}

// ObservedObjectCollectionList is a list of ObservedObjectCollections.
//
// +kubebuilder:object:root=true
type ObservedObjectCollectionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ObservedObjectCollection `json:"items"`
}

// Desired returns the desired state both scopes share. It is never nil.
func (c *ObservedObjectCollection) Desired() *commonv1.ObservedObjectCollectionSpec {
	return &c.Spec.ObservedObjectCollectionSpec
}

// Observed returns the observed state. It is never nil.
func (c *ObservedObjectCollection) Observed() *commonv1.ObservedObjectCollectionStatus {
	return &c.Status
}

// GetProviderConfigReference returns which ProviderConfig the collection uses, nil if it names none.
func (c *ObservedObjectCollection) GetProviderConfigReference() *xpv2.Reference {
	return c.Spec.ProviderConfigReference
}

// GetCondition returns a condition, of status Unknown if there is none of the type.
func (c *ObservedObjectCollection) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return c.Status.GetCondition(t)
}

// SetConditions sets conditions, and keeps others.
func (c *ObservedObjectCollection) SetConditions(conditions ...xpv2.Condition) {
	c.Status.SetConditions(conditions...)
}
