package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reference is a dependency of an Object on another resource of the control plane. dependsOn counts also beside
// patchesFrom; without any member, the reference has no effect.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fromObject) || !(has(self.patchesFrom) || has(self.dependsOn))",message="fromObject cannot be set together with patchesFrom or dependsOn"
type Reference struct {
	// dependsOn names a resource that must exist, or be ready, before this Object is created.
	// +optional
	DependsOn *DependsOn `json:"dependsOn,omitempty"`

	// patchesFrom names a resource, and a field of it whose value is written into the manifest.
	// +optional
	PatchesFrom *PatchesFrom `json:"patchesFrom,omitempty"`

	// fromObject is the form of patchesFrom that earlier providers have: toFieldPath may then be absolute, beginning
	// with spec.forProvider.manifest. Without toFieldPath nothing is written, and the field must exist before this
	// Object is created.
	// +optional
	FromObject *FromObject `json:"fromObject,omitempty"`

	// toFieldPath is the field of the manifest that receives the value, for example metadata.name. The default is the
	// fieldPath of patchesFrom.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('{') && !self.startsWith('.') && !self.startsWith('$')",message="a field path must not be JSONPath: write data.key and not {.data.key}"
	// +kubebuilder:validation:MaxLength=4096
	ToFieldPath *string `json:"toFieldPath,omitempty"`
}

// WaitFor decides what a dependency waits for.
type WaitFor string

const (
	// WaitForExists waits until the resource exists. It is the default.
	WaitForExists WaitFor = "Exists"
	// WaitForReady waits until the resource has condition Ready=True.
	WaitForReady WaitFor = "Ready"
	// WaitForHealthy waits until the resource works: of an Object the one that it keeps on its target.
	WaitForHealthy WaitFor = "Healthy"
)

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

	// waitFor decides what this Object waits for before it creates its resource: Exists (the default); Ready, which is
	// condition Ready=True of the resource; or Healthy, which is derived from its status by the rules of kstatus for its
	// kind. For an Object, Healthy applies to the resource in its status.atProvider.manifest; for a
	// KubernetesApplication and its resources it is condition Healthy=True.
	// +optional
	// +kubebuilder:default=Exists
	// +kubebuilder:validation:Enum=Exists;Ready;Healthy
	WaitFor WaitFor `json:"waitFor,omitempty"`

	// celQuery is a CEL expression of type bool over the variable object, the referenced resource on the control plane.
	// It must be true, too, before this Object creates its resource. An expression that does not compile makes the
	// reference invalid.
	// +optional
	// +kubebuilder:validation:MaxLength=10000
	CelQuery string `json:"celQuery,omitempty"`
}

// PatchesFrom names a field of a resource of the control plane.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="exactly one of name and selector must be set"
type PatchesFrom struct {
	// apiVersion of the referenced resource. The default is the API version of Object in the scope of this Object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the referenced resource. The default is Object.
	// +optional
	// +kubebuilder:default=Object
	Kind string `json:"kind,omitempty"`

	// name of the referenced resource.
	// +optional
	Name string `json:"name,omitempty"`

	// selector selects the referenced resource by its labels, instead of by name. It must match exactly one.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// namespace of the referenced resource. The default is the namespace of this Object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// fieldPath is the field whose value is read, for example status.atProvider.manifest.status.currentCSV.
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('{') && !self.startsWith('.') && !self.startsWith('$')",message="a field path must not be JSONPath: write data.key and not {.data.key}"
	// +kubebuilder:validation:MaxLength=4096
	FieldPath string `json:"fieldPath"`

	// transforms change the value before it is written, in this order.
	// +optional
	// +listType=atomic
	Transforms []Transform `json:"transforms,omitempty"`
}

// FromObject names a resource of the control plane and, optionally, a field of it.
type FromObject struct {
	// apiVersion of the referenced resource. The default is the API version of Object in the scope of this Object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the referenced resource. The default is Object.
	// +optional
	// +kubebuilder:default=Object
	Kind string `json:"kind,omitempty"`

	// name of the referenced resource. matchLabels can be used instead.
	// +optional
	Name string `json:"name,omitempty"`

	// matchLabels selects the referenced resource by its labels. It must match exactly one.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// namespace of the referenced resource. The default is the namespace of this Object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// fieldPath is the field whose value is read. Without it the resource only has to exist.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('{') && !self.startsWith('.') && !self.startsWith('$')",message="a field path must not be JSONPath: write data.key and not {.data.key}"
	// +kubebuilder:validation:MaxLength=4096
	FieldPath string `json:"fieldPath,omitempty"`
}

// TransformType is a kind of transform.
type TransformType string

const (
	// TransformString formats the value.
	TransformString TransformType = "string"
	// TransformMap looks the value up in a map.
	TransformMap TransformType = "map"
	// TransformConvert converts the value to another type.
	TransformConvert TransformType = "convert"
)

// Transform changes a value, as a patch of a Composition does.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'string' || has(self.string)",message="string must be set if type is string"
// +kubebuilder:validation:XValidation:rule="self.type != 'map' || has(self.map)",message="map must be set if type is map"
// +kubebuilder:validation:XValidation:rule="self.type != 'convert' || has(self.convert)",message="convert must be set if type is convert"
type Transform struct {
	// type of the transform: string, map or convert.
	// +kubebuilder:validation:Enum=string;map;convert
	Type TransformType `json:"type"`

	// string formats the value.
	// +optional
	String *StringTransform `json:"string,omitempty"`

	// map maps each value that is expected to the one that takes its place. It must be set if type is map. A value that
	// is not a key is an error.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Map map[string]apiextensionsv1.JSON `json:"map,omitempty"`

	// convert converts the value to another type.
	// +optional
	Convert *ConvertTransform `json:"convert,omitempty"`
}

// StringTransform formats a value.
type StringTransform struct {
	// fmt is a format as of Go's package fmt, with one verb, for example us-%s.
	// +kubebuilder:validation:MinLength=1
	Format string `json:"fmt"`
}

// ConvertTransform converts a value to another type.
type ConvertTransform struct {
	// toType is the type to convert to: string, int, int64, bool, float64, object or array. The last two parse JSON.
	// +kubebuilder:validation:Enum=string;int;int64;bool;float64;object;array
	ToType string `json:"toType"`
}

// PinnedReference is a resource of the control plane that carries a finalizer for an Object.
type PinnedReference struct {
	// apiVersion of the resource.
	APIVersion string `json:"apiVersion"`

	// kind of the resource.
	Kind string `json:"kind"`

	// namespace of the resource, empty if it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the resource.
	Name string `json:"name"`

	// uid of the resource when it got the finalizer.
	UID types.UID `json:"uid"`
}
