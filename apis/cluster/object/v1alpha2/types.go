package v1alpha2

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "kubernetes.crossplane.io", Version: "v1alpha2"}
	// ObjectGroupVersionKind is the kind Object in this version.
	ObjectGroupVersionKind = GroupVersion.WithKind(commonv1.ObjectKind)
)

// ObjectSpec is the desired state of an Object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.managementPolicy) || self.managementPolicy == 'Default' || !has(self.managementPolicies) || self.managementPolicies == ['*']",message="managementPolicy and managementPolicies cannot both differ from their defaults: use managementPolicies"
type ObjectSpec struct {
	xpv2.ClusterManagedResourceSpec `json:",inline"`
	commonv1.ObjectSpec             `json:",inline"`

	// managementPolicy decides what the provider may do on the target: Default (everything), ObserveCreateUpdate (never
	// delete), ObserveDelete (never create or change) or Observe. Newer Objects use managementPolicies.
	// +optional
	// +kubebuilder:default=Default
	// +kubebuilder:validation:Enum=Default;ObserveCreateUpdate;ObserveDelete;Observe
	ManagementPolicy commonv1.ManagementPolicy `json:"managementPolicy,omitempty"`
}

// An Object manages one Kubernetes resource on a cluster or in a kcp workspace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,categories={crossplane,managed,kubernetes}
// +kubebuilder:selectablefield:JSONPath=".spec.providerConfigRef.name"
// +kubebuilder:selectablefield:JSONPath=".spec.forProvider.manifest.kind"
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.forProvider.manifest.kind"
// +kubebuilder:printcolumn:name="APIVERSION",type="string",JSONPath=".spec.forProvider.manifest.apiVersion",priority=1
// +kubebuilder:printcolumn:name="METANAME",type="string",JSONPath=".status.atProvider.manifest.metadata.name",priority=1
// +kubebuilder:printcolumn:name="METANAMESPACE",type="string",JSONPath=".status.atProvider.manifest.metadata.namespace",priority=1
// +kubebuilder:printcolumn:name="PROVIDERCONFIG",type="string",JSONPath=".spec.providerConfigRef.name"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.status=='False')].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.status=='False')].message",priority=1
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ObjectSpec            `json:"spec"`
	Status commonv1.ObjectStatus `json:"status,omitempty"`
}

// ObjectList is a list of Objects.
//
// +kubebuilder:object:root=true
type ObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Object `json:"items"`
}

// Desired returns the desired state both scopes share. It is never nil.
func (mg *Object) Desired() *commonv1.ObjectSpec { return &mg.Spec.ObjectSpec }

// Observed returns what was last seen on the target. It is never nil.
func (mg *Object) Observed() *commonv1.ObjectObservation { return &mg.Status.AtProvider }

// ConnectionSecret returns the namespace and name of the connection secret, empty if there is to be none.
func (mg *Object) ConnectionSecret() types.NamespacedName {
	r := mg.Spec.WriteConnectionSecretToReference
	if r == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// GetManagementPolicies returns the effective management actions: those of managementPolicy unless it is Default, else
// those of managementPolicies, and without Delete if the deletionPolicy is Orphan.
func (mg *Object) GetManagementPolicies() xpv2.ManagementPolicies {
	p := commonv1.EffectivePolicies(mg.Spec.ManagementPolicy, mg.Spec.ManagementPolicies)
	if mg.Spec.DeletionPolicy == xpv2.DeletionOrphan {
		return commonv1.WithoutDelete(p)
	}
	return p
}

// RemoveCondition removes the condition of a type, if there is one.
func (mg *Object) RemoveCondition(t xpv2.ConditionType) { mg.Status.RemoveCondition(t) }
