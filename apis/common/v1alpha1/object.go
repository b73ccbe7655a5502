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
	// forProvider decides which Kubernetes resource is managed on the target, and how it is deleted.
	ForProvider ObjectParameters `json:"forProvider"`

	// connectionDetails lists the values that are copied from resources on the target into the connection secret
	// named by writeConnectionSecretToRef.
	// +optional
	// +listType=atomic
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`

	// references lists the resources of the control plane this Object depends on, in the order in which they are
	// resolved. There are at most 100: each is resolved on each reconcile, and puts a finalizer on its resource.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	References []Reference `json:"references,omitempty"`

	// readiness decides when the Object is Ready. The default is policy DeriveFromCelQuery if celQuery is set, else
	// SuccessfulCreate.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.policy) || self.policy != 'DeriveFromCelQuery' || (has(self.celQuery) && size(self.celQuery) > 0)",message="celQuery must be set if policy is DeriveFromCelQuery"
	// +kubebuilder:validation:XValidation:rule=`!has(self.celQuery) || !has(self.policy) || self.policy != 'DeriveFromCelQuery' || self.celQuery.contains('//') || self.celQuery.contains("\'\'\'") || self.celQuery.contains('\"\"\"') || self.celQuery.matches(r"""^([^"'=<>!]|[<>!]=?|==|"([^"\\]|\\.)*"|'([^'\\]|\\.)*')*$""")`,message="celQuery is not valid CEL: compare with == and not with ="
	Readiness Readiness `json:"readiness,omitempty"`

	// watch is accepted for compatibility with provider-kubernetes and has no effect: the resource on the target
	// is always watched.
	// +optional
	// +kubebuilder:default=false
	Watch bool `json:"watch,omitempty"`

	// unreachableTarget decides what happens to a deleted Object whose target cannot be reached, for example because the
	// cluster, its ProviderConfig or its credentials no longer exist. Wait (the default) keeps the Object until the
	// target responds and the resource is deleted. Orphan removes the Object and keeps the resource, if it still exists.
	// The field also applies to the previous resource if the manifest names another resource, or providerConfigRef
	// another target.
	// +optional
	// +kubebuilder:default=Wait
	// +kubebuilder:validation:Enum=Wait;Orphan
	UnreachableTarget UnreachableTargetPolicy `json:"unreachableTarget,omitempty"`

	// sharedResource decides what happens to the resource if this Object is deleted while other Objects manage the same
	// resource, for example an operator that several stacks need. Delete (the default) deletes it with the first of
	// these Objects. Orphan removes only the fields that no other Object has applied, and the last Object deletes the
	// resource. Another Object is considered if it shows the resource in status.atProvider.manifest, uses the same
	// ProviderConfig or owns fields of the resource, is not deleted, and would delete the resource itself. The field
	// also applies to the previous resource if the manifest names another resource, or providerConfigRef another target.
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
	// manifest is the resource to manage on the target, of any kind that the target serves. metadata.name defaults to
	// the name of the Object. metadata.namespace has no default, so a namespaced kind requires it. Only the fields in
	// the manifest are managed: fields of other managers remain.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest"`

	// deletionPropagationPolicy decides what happens to the dependents of the resource on the target when it is deleted:
	// Background (the default) deletes them afterwards, Foreground deletes them first, Orphan keeps them. Empty, as
	// provider-kubernetes stores it, is the default.
	// +optional
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum="";Orphan;Background;Foreground
	DeletionPropagationPolicy metav1.DeletionPropagation `json:"deletionPropagationPolicy,omitempty"`

	// ignoreFields lists fields of the manifest that other controllers manage while the target has them, such as the
	// replicas of a Deployment with an autoscaler. The manifest sets their values when the resource is created, and when
	// the fields are removed. There are at most 32. The default is none.
	// +optional
	// +listType=map
	// +listMapKey=fieldPath
	// +kubebuilder:validation:MaxItems=32
	IgnoreFields []IgnoredField `json:"ignoreFields,omitempty"`

	// onImmutableChange decides what happens to a change that the target rejects because the field is immutable, such as
	// the template of a Job. Fail (the default) reports the rejection in condition Synced. Recreate deletes the resource
	// with all its data, and creates it again. It requires all management policies, a resource that this Object has
	// applied and no other Object manages or observes, and a manifest that the target accepts for a new resource.
	// Resources that store data, such as a PersistentVolumeClaim, are never recreated. Condition Synced reports why
	// Recreate does not apply.
	// +optional
	// +kubebuilder:default=Fail
	// +kubebuilder:validation:Enum=Fail;Recreate
	OnImmutableChange ImmutableChangePolicy `json:"onImmutableChange,omitempty"`
}

// IgnoreCondition says when a field is left to others.
type IgnoreCondition string

// IgnoreOnPresent leaves a field to others while the target has it. It is the default.
const IgnoreOnPresent IgnoreCondition = "OnPresent"

// An IgnoredField is a field of the manifest that is left to others.
type IgnoredField struct {
	// fieldPath is the path to the field in the manifest, for example spec.replicas, or
	// spec.template.spec.containers[*].resources for the resources of all containers. All fields below it are ignored,
	// too. A key of stringData is written as data.<key>. A path to a field that the manifest does not set has no effect.
	// If a path cannot be parsed, condition Synced is False with reason InvalidManifest.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('{') && !self.startsWith('.') && !self.startsWith('$')",message="a field path must not be JSONPath: write spec.replicas and not {.spec.replicas}"
	// +kubebuilder:validation:XValidation:rule="!(self in ['apiVersion', 'kind', 'metadata', 'metadata.name', 'metadata.namespace'])",message="a field that identifies the resource cannot be ignored: name a field below it, such as metadata.labels"
	FieldPath string `json:"fieldPath"`

	// condition decides when the field is ignored: OnPresent (the default) while the target has it. The provider does
	// not send fields that another field manager owns. For fields without another owner it sends the value on the
	// target.
	// +optional
	// +kubebuilder:default=OnPresent
	// +kubebuilder:validation:Enum=OnPresent
	Condition IgnoreCondition `json:"condition,omitempty"`
}

// ImmutableChangePolicy decides what happens when the target refuses to change a field that must not change.
type ImmutableChangePolicy string

const (
	// ImmutableChangeFail reports the refusal. It is the default.
	ImmutableChangeFail ImmutableChangePolicy = "Fail"
	// ImmutableChangeRecreate deletes the resource and makes it again.
	ImmutableChangeRecreate ImmutableChangePolicy = "Recreate"
)

// ConnectionDetail selects one value of a resource on the target for the connection secret.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fieldPath) || !self.fieldPath.startsWith('{')",message="a field path must not be JSONPath: write data.key and not {.data.key}"
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
	// ReadinessDeriveFromHealth makes an Object ready while the observed resource works, as far as its status tells.
	ReadinessDeriveFromHealth ReadinessPolicy = "DeriveFromHealth"
)

// Readiness decides when an Object counts as Ready.
type Readiness struct {
	// policy derives readiness: SuccessfulCreate when the manifest is applied, DeriveFromObject from condition Ready of
	// the observed resource, AllTrue from all its conditions, DeriveFromCelQuery from celQuery, DeriveFromHealth from
	// its status by the rules of kstatus for its kind: a Deployment is rolled out, a Job is complete, a LoadBalancer has
	// an address. A resource of a kind with a status is not ready until the status is set. A resource whose status has
	// no health is ready when it exists. The default is DeriveFromCelQuery if celQuery is set, else SuccessfulCreate.
	// +optional
	// +kubebuilder:validation:Enum=SuccessfulCreate;DeriveFromObject;AllTrue;DeriveFromCelQuery;DeriveFromHealth
	Policy ReadinessPolicy `json:"policy,omitempty"`

	// celQuery is a CEL expression of type bool over the variable object, the observed resource. Policy
	// DeriveFromCelQuery requires it, and other policies ignore it.
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
	// manifest is the resource on the target, with its status. It is updated when any field except resourceVersion and
	// managedFields changes. It contains values of Secrets, as with provider-kubernetes, so that references and
	// Compositions can use them; users that may read the Object can read them. The provider masks them if it runs with
	// --sanitize-secrets.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest,omitempty"`

	// omittedBytes is the size of the resource in bytes, if manifest omits its content because the Object would be too
	// large for the control plane. manifest then has apiVersion, kind, and the name, namespace and uid of metadata.
	// +optional
	OmittedBytes int64 `json:"omittedBytes,omitempty"`

	// providerConfigRef is the ProviderConfig through which manifest was read. If the Object refers to another
	// ProviderConfig, the provider handles the resource through this one first.
	// +optional
	ProviderConfigReference *xpv2.ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// applied identifies what was last applied. While it matches, the resource is up to date and the provider sends no
	// requests to the target.
	// +optional
	Applied *AppliedRecord `json:"applied,omitempty"`

	// references are the resources of the control plane that cannot be deleted before this Object. A finalizer on each
	// blocks the deletion.
	// +optional
	// +listType=atomic
	References []PinnedReference `json:"references,omitempty"`

	// diff is the change that applying the manifest would make on the target, as a JSON patch (RFC 6902) in which values
	// of Secrets are masked. It is set only for Objects that may not apply: those that only observe, and those with
	// annotation kubernetes.crossplane.io/dry-run.
	// +optional
	// +listType=atomic
	Diff []DiffOperation `json:"diff,omitempty"`

	// compared is the hexadecimal SHA-256 of the input of diff and condition UpToDate: the manifest, the resource on the
	// target and the generation of the Object. While it matches, the provider sends no requests to the target.
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

// ManagementPolicy is the management policy of Object v1alpha1: one word for a set of management actions.
type ManagementPolicy string

const (
	// ManagementPolicyDefault manages the resource fully.
	ManagementPolicyDefault ManagementPolicy = "Default"
	// ManagementPolicyObserveCreateUpdate manages the resource but never deletes it.
	ManagementPolicyObserveCreateUpdate ManagementPolicy = "ObserveCreateUpdate"
	// ManagementPolicyObserveDelete observes the resource and deletes it with the Object, but never creates
	// or changes it.
	ManagementPolicyObserveDelete ManagementPolicy = "ObserveDelete"
	// ManagementPolicyObserve only observes the resource.
	ManagementPolicyObserve ManagementPolicy = "Observe"
)

// EffectivePolicies returns the management actions that a managementPolicy and managementPolicies give
// together. A policy other than Default decides; otherwise, and for an unknown policy, the policies do. It
// never changes its arguments.
func EffectivePolicies(policy ManagementPolicy, policies xpv2.ManagementPolicies) xpv2.ManagementPolicies {
	switch policy {
	case ManagementPolicyObserveCreateUpdate:
		return xpv2.ManagementPolicies{
			xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
		}
	case ManagementPolicyObserveDelete:
		return xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete}
	case ManagementPolicyObserve:
		return xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	case ManagementPolicyDefault:
		return policies
	}
	return policies
}

// WithoutDelete returns management actions without Delete, as deletionPolicy Orphan makes them. The action *
// stays as it is: crossplane-runtime does not take it for Delete where the deletionPolicy is Orphan. It never
// changes its argument.
func WithoutDelete(policies xpv2.ManagementPolicies) xpv2.ManagementPolicies {
	return slices.DeleteFunc(slices.Clone(policies),
		func(a xpv2.ManagementAction) bool { return a == xpv2.ManagementActionDelete })
}
