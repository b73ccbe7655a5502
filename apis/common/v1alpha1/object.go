package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ObjectSpec is the part of an Object's spec that both scopes share.
type ObjectSpec struct {
	// forProvider says which Kubernetes resource is kept on the target, and how it is deleted.
	ForProvider ObjectParameters `json:"forProvider"`

	// connectionDetails lists the values that are copied from resources on the target into the connection secret named by
	// writeConnectionSecretToRef.
	// +optional
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`

	// references lists the resources of the control plane this Object depends on, in the order in which they are resolved.
	// +optional
	References []Reference `json:"references,omitempty"`

	// readiness says when the Object counts as Ready. The default is policy SuccessfulCreate.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.policy != 'DeriveFromCelQuery' || (has(self.celQuery) && size(self.celQuery) > 0)",message="celQuery must be set if policy is DeriveFromCelQuery"
	Readiness Readiness `json:"readiness,omitempty"`

	// watch is accepted for compatibility with provider-kubernetes and has no effect: the resource on the target is always watched.
	// +optional
	// +kubebuilder:default=false
	Watch bool `json:"watch,omitempty"`
}

// ObjectParameters are the desired state of the resource on the target.
type ObjectParameters struct {
	// manifest is the resource to keep on the target, of any kind the target serves. metadata.name defaults to the name of the
	// Object; metadata.namespace has no default, so a namespaced kind needs it. Only the fields given here are managed: fields that
	// other managers set are left alone.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest"`

	// deletionPropagationPolicy says what happens to the dependents of the resource on the target when it is deleted: Background
	// (the default) deletes them afterwards, Foreground deletes them first, Orphan leaves them.
	// +optional
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum=Orphan;Background;Foreground
	DeletionPropagationPolicy metav1.DeletionPropagation `json:"deletionPropagationPolicy,omitempty"`
}

// ConnectionDetail selects one value of a resource on the target for the connection secret.
type ConnectionDetail struct {
	// The reference names a resource on the target and, in fieldPath, the field whose value is copied.
	corev1.ObjectReference `json:",inline"`

	// toConnectionSecretKey is the key of the connection secret the value is stored under.
	// +optional
	ToConnectionSecretKey string `json:"toConnectionSecretKey,omitempty"`
}

// Reference is a dependency of an Object on another resource of the control plane. If both members are set, patchesFrom wins; if
// neither is, the reference has no effect.
type Reference struct {
	// dependsOn names a resource that must exist before this Object is created.
	// +optional
	DependsOn *DependsOn `json:"dependsOn,omitempty"`

	// patchesFrom names a resource, and a field of it whose value is written into the manifest.
	// +optional
	PatchesFrom *PatchesFrom `json:"patchesFrom,omitempty"`

	// toFieldPath is the field of the manifest that receives the value of patchesFrom, for example metadata.name. The default is
	// the fieldPath of patchesFrom.
	// +optional
	ToFieldPath *string `json:"toFieldPath,omitempty"`
}

// DependsOn names a resource of the control plane.
type DependsOn struct {
	// apiVersion of the referenced resource. The default is the API version of Object in the scope of this Object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the referenced resource. The default is Object.
	// +optional
	// +kubebuilder:default=Object
	Kind string `json:"kind,omitempty"`

	// name of the referenced resource.
	Name string `json:"name"`

	// namespace of the referenced resource. The default is the namespace of this Object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// PatchesFrom names a field of a resource of the control plane.
type PatchesFrom struct {
	DependsOn `json:",inline"`

	// fieldPath is the field whose value is read, for example status.atProvider.manifest.status.currentCSV.
	FieldPath string `json:"fieldPath"`
}

// ReadinessPolicy says how readiness is derived.
type ReadinessPolicy string

const (
	// ReadinessSuccessfulCreate makes an Object ready once its manifest is applied.
	ReadinessSuccessfulCreate ReadinessPolicy = "SuccessfulCreate"
	// ReadinessDeriveFromObject makes an Object ready while the observed resource has condition Ready=True.
	ReadinessDeriveFromObject ReadinessPolicy = "DeriveFromObject"
	// ReadinessAllTrue makes an Object ready while the observed resource has conditions, and all of them are True.
	ReadinessAllTrue ReadinessPolicy = "AllTrue"
	// ReadinessDeriveFromCelQuery makes an Object ready while its CEL query is true.
	ReadinessDeriveFromCelQuery ReadinessPolicy = "DeriveFromCelQuery"
)

// Readiness says when an Object counts as Ready.
type Readiness struct {
	// policy derives readiness: SuccessfulCreate (the default) once the manifest is applied, DeriveFromObject from condition Ready of
	// the observed resource, AllTrue from all of its conditions, DeriveFromCelQuery from celQuery.
	// +optional
	// +kubebuilder:default=SuccessfulCreate
	// +kubebuilder:validation:Enum=SuccessfulCreate;DeriveFromObject;AllTrue;DeriveFromCelQuery
	Policy ReadinessPolicy `json:"policy,omitempty"`

	// celQuery is a CEL expression of type bool over the variable object, the observed resource. It is required by policy
	// DeriveFromCelQuery.
	// +optional
	CelQuery string `json:"celQuery,omitempty"`
}

// ObjectStatus is the observed state of an Object, in either scope.
type ObjectStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// atProvider is what was last seen on the target.
	// +optional
	AtProvider ObjectObservation `json:"atProvider,omitempty"`
}

// ObjectObservation is what was last seen on the target.
type ObjectObservation struct {
	// manifest is the resource as the target holds it, its status included. It is updated when anything but its resourceVersion and
	// its managedFields changes.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest,omitempty"`

	// applied identifies what was last applied. While it matches, the resource is up to date and nothing is sent to the target.
	// +optional
	Applied *AppliedRecord `json:"applied,omitempty"`
}

// AppliedRecord identifies an applied manifest and the fields it set.
type AppliedRecord struct {
	// manifestHash is the hexadecimal SHA-256 of the manifest that was applied.
	ManifestHash string `json:"manifestHash"`

	// fieldsHash is the hexadecimal SHA-256 of the fields of the resource on the target that this Object owns, with their values.
	FieldsHash string `json:"fieldsHash"`
}
