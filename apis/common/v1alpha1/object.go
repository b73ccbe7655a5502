package v1alpha1

import (
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ObjectSpec is the part of an Object's spec that both scopes share.
type ObjectSpec struct {
	// forProvider decides which Kubernetes resource is kept on the target, and how it is deleted.
	ForProvider ObjectParameters `json:"forProvider"`

	// connectionDetails lists the values that are copied from resources on the target into the connection secret
	// named by writeConnectionSecretToRef.
	// +optional
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`

	// references lists the resources of the control plane this Object depends on, in the order in which they are
	// resolved. There are at most 100: each is resolved on each reconcile, and puts a finalizer on its resource.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	References []Reference `json:"references,omitempty"`

	// readiness decides when the Object counts as Ready. The default is policy SuccessfulCreate.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.policy != 'DeriveFromCelQuery' || (has(self.celQuery) && size(self.celQuery) > 0)",message="celQuery must be set if policy is DeriveFromCelQuery"
	// +kubebuilder:validation:XValidation:rule=`!has(self.celQuery) || self.policy != 'DeriveFromCelQuery' || self.celQuery.contains('//') || self.celQuery.contains("\'\'\'") || self.celQuery.contains('\"\"\"') || self.celQuery.matches(r"""^([^"'=<>!]|[<>!]=?|==|"([^"\\]|\\.)*"|'([^'\\]|\\.)*')*$""")`,message="celQuery is no CEL: compare with == and not with ="
	Readiness Readiness `json:"readiness,omitempty"`

	// watch is accepted for compatibility with provider-kubernetes and has no effect: the resource on the target
	// is always watched.
	// +optional
	// +kubebuilder:default=false
	Watch bool `json:"watch,omitempty"`

	// unreachableTarget decides what becomes of a deleted Object whose target cannot be reached, for example because the
	// cluster, its ProviderConfig or its credentials are gone for good: Wait (the default) keeps the Object until the
	// target answers and the resource is deleted; Orphan removes the Object and leaves the resource, if there still is
	// one. It decides likewise about the resource that is left behind when the manifest names another one or
	// providerConfigRef another target.
	// +optional
	// +kubebuilder:default=Wait
	// +kubebuilder:validation:Enum=Wait;Orphan
	UnreachableTarget UnreachableTargetPolicy `json:"unreachableTarget,omitempty"`

	// sharedResource decides what becomes of the resource when this Object is deleted while other Objects keep the same
	// resource, for example an operator that several stacks need: Delete (the default) deletes it with the first of its
	// Objects; Orphan leaves it to the others, without the fields that only this Object has applied, so that it goes with
	// the last one. Another Object counts if it shows the resource in status.atProvider.manifest, uses the same
	// ProviderConfig or has fields on the resource, is not deleted, and would delete the resource in its turn. The same
	// holds for the former resource when the manifest names another one, or providerConfigRef another target.
	// +optional
	// +kubebuilder:default=Delete
	SharedResource xpv2.DeletionPolicy `json:"sharedResource,omitempty"`
}

// UnreachableTargetPolicy decides what becomes of a deleted Object whose target cannot be reached.
type UnreachableTargetPolicy string

const (
	// UnreachableTargetWait keeps a deleted Object until its target answers. It is the default.
	UnreachableTargetWait UnreachableTargetPolicy = "Wait"
	// UnreachableTargetOrphan lets a deleted Object go while its target does not answer.
	UnreachableTargetOrphan UnreachableTargetPolicy = "Orphan"
)

// ObjectParameters are the desired state of the resource on the target.
type ObjectParameters struct {
	// manifest is the resource to keep on the target, of any kind the target serves. metadata.name defaults to the name
	// of the Object; metadata.namespace has no default, so a namespaced kind needs it. Only the fields given here are
	// managed: fields that other managers set are left alone.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest"`

	// deletionPropagationPolicy decides what happens to the dependents of the resource on the target when it is deleted:
	// Background (the default) deletes them afterwards, Foreground deletes them first, Orphan leaves them. Empty, as
	// provider-kubernetes has stored it, is the default.
	// +optional
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum="";Orphan;Background;Foreground
	DeletionPropagationPolicy metav1.DeletionPropagation `json:"deletionPropagationPolicy,omitempty"`

	// ignoreFields lists the fields of the manifest that are left to others as long as the target has them, such as the
	// replicas of a Deployment with an autoscaler. The manifest gives their values when the resource is created, and when
	// somebody removes them. There are at most 32. By default there are none.
	// +optional
	// +listType=map
	// +listMapKey=fieldPath
	// +kubebuilder:validation:MaxItems=32
	IgnoreFields []IgnoredField `json:"ignoreFields,omitempty"`
}

// IgnoreCondition says when a field is left to others.
type IgnoreCondition string

// IgnoreOnPresent leaves a field to others while the target has it. It is the default.
const IgnoreOnPresent IgnoreCondition = "OnPresent"

// An IgnoredField is a field of the manifest that is left to others.
type IgnoredField struct {
	// fieldPath leads to the field through the manifest, for example spec.replicas, or
	// spec.template.spec.containers[*].resources for the resources of all containers. All fields below it are left to
	// others, too. A key of stringData is written as data.<key>. A path to a field that the manifest does not give has no
	// effect. If a path cannot be parsed, condition Synced is False with reason InvalidManifest.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('{') && !self.startsWith('.') && !self.startsWith('$')",message="a field path is not JSONPath: write spec.replicas and not {.spec.replicas}"
	// +kubebuilder:validation:XValidation:rule="!(self in ['apiVersion', 'kind', 'metadata', 'metadata.name', 'metadata.namespace'])",message="a field that identifies the resource cannot be ignored: name a field below it, such as metadata.labels"
	FieldPath string `json:"fieldPath"`

	// condition says when the field is left to others: OnPresent (the default) while the target has it. What another
	// field manager owns is not sent, and of what nobody else owns the value of the target is sent.
	// +optional
	// +kubebuilder:default=OnPresent
	// +kubebuilder:validation:Enum=OnPresent
	Condition IgnoreCondition `json:"condition,omitempty"`
}

// ConnectionDetail selects one value of a resource on the target for the connection secret.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fieldPath) || !self.fieldPath.startsWith('{')",message="a field path is not JSONPath: write data.key and not {.data.key}"
type ConnectionDetail struct {
	// The reference names a resource on the target and, in fieldPath, the field whose value is copied.
	corev1.ObjectReference `json:",inline"`

	// toConnectionSecretKey is the key of the connection secret the value is stored under. It must be set.
	// +optional
	ToConnectionSecretKey string `json:"toConnectionSecretKey,omitempty"`
}

// ReadinessPolicy describes how readiness is derived.
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

// Readiness decides when an Object counts as Ready.
type Readiness struct {
	// policy derives readiness: SuccessfulCreate (the default) once the manifest is applied, DeriveFromObject from
	// condition Ready of the observed resource, AllTrue from all of its conditions, DeriveFromCelQuery from celQuery.
	// +optional
	// +kubebuilder:default=SuccessfulCreate
	// +kubebuilder:validation:Enum=SuccessfulCreate;DeriveFromObject;AllTrue;DeriveFromCelQuery
	Policy ReadinessPolicy `json:"policy,omitempty"`

	// celQuery is a CEL expression of type bool over the variable object, the observed resource. It is required
	// by policy DeriveFromCelQuery.
	// +optional
	// +kubebuilder:validation:MaxLength=10000
	CelQuery string `json:"celQuery,omitempty"`
}

// ObjectStatus is the observed state of an Object, in either scope.
type ObjectStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// atProvider is what was last seen on the target.
	// +optional
	AtProvider ObjectObservation `json:"atProvider,omitempty"`
}

// RemoveCondition removes the condition of a type, if there is one.
func (s *ObjectStatus) RemoveCondition(t xpv2.ConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c xpv2.Condition) bool { return c.Type == t })
}

// ObjectObservation is what was last seen on the target.
type ObjectObservation struct {
	// manifest is the resource as the target holds it, its status included. It is updated when anything but its
	// resourceVersion and its managedFields changes. Values of a Secret are in it as they are, as with
	// provider-kubernetes, so that references and Compositions can use them; who may read the Object reads them. With the
	// provider's flag --sanitize-secrets they are masked.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest,omitempty"`

	// omittedBytes is the size of the resource, in bytes, if manifest does not show its content: with it the
	// Object would be too large for the control plane. manifest then has apiVersion, kind, and the name, namespace
	// and uid of metadata.
	// +optional
	OmittedBytes int64 `json:"omittedBytes,omitempty"`

	// providerConfigRef is the ProviderConfig through which manifest was seen. When the Object refers to another one,
	// the resource is dealt with through this one first.
	// +optional
	ProviderConfigReference *xpv2.ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// applied identifies what was last applied. While it matches, the resource is up to date and nothing is sent
	// to the target.
	// +optional
	Applied *AppliedRecord `json:"applied,omitempty"`

	// references are the resources of the control plane that cannot be deleted before this Object, by a
	// finalizer on each.
	// +optional
	// +listType=atomic
	References []PinnedReference `json:"references,omitempty"`

	// diff is what applying the manifest would change on the target, as a JSON patch (RFC 6902) in which values
	// of Secrets are masked. It is only kept for Objects that may not apply: those that only observe, and those
	// with annotation kubernetes.crossplane.io/dry-run.
	// +optional
	// +listType=atomic
	Diff []DiffOperation `json:"diff,omitempty"`

	// compared is the hexadecimal SHA-256 of all that diff and condition UpToDate follow from: the manifest, the
	// resource on the target and the generation of the Object. While it matches, the target is not asked again.
	// +optional
	Compared string `json:"compared,omitempty"`
}

// DiffOperation is one operation of a JSON patch.
type DiffOperation struct {
	// op is add, remove or replace.
	// +kubebuilder:validation:Enum=add;remove;replace
	Op string `json:"op"`

	// path is a JSON pointer (RFC 6901) to the field.
	Path string `json:"path"`

	// value is the value the field would get. It is not set if op is remove.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// AppliedRecord identifies an applied manifest and the fields it set.
type AppliedRecord struct {
	// manifestHash is the hexadecimal SHA-256 of the manifest that was applied.
	ManifestHash string `json:"manifestHash"`

	// fieldsHash is the hexadecimal SHA-256 of the fields of the resource on the target that this Object owns,
	// with their values.
	FieldsHash string `json:"fieldsHash"`

	// fieldManager is the field manager the manifest was applied with, if it is not provider-kubernetes/ and the name
	// of the Object: another Object of that name has the resource, too.
	// +optional
	FieldManager string `json:"fieldManager,omitempty"`
}
