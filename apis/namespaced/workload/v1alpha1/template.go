package v1alpha1

import (
	"bytes"

	"k8s.io/apimachinery/pkg/util/json"
)

// A Template is a Kubernetes resource of any kind the cluster serves. Beside its type and its name it is opaque.
//
// An embedded resource would hide the namespace from validation rules, so the fields that identify the resource are
// declared here. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
//
// +kubebuilder:pruning:PreserveUnknownFields
type Template struct {
	// apiVersion of the resource. Its group cannot be changed. Another version refers to the same resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// kind of the resource. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// metadata of the resource.
	Metadata TemplateMetadata `json:"metadata"`

	// Raw is the whole resource as JSON, the fields above included. It is what is encoded.
	Raw []byte `json:"-"`
}

// TemplateMetadata identifies the resource of a template, beside all other metadata it may have.
//
// +kubebuilder:pruning:PreserveUnknownFields
type TemplateMetadata struct {
	// name of the resource. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the resource. It cannot be changed. The default is the namespace default; a resource of a kind that
	// is cluster-scoped has none, whatever is given here.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// UnmarshalJSON keeps the whole resource. Names of fields are told apart by case, as API servers do.
func (t *Template) UnmarshalJSON(b []byte) error {
	type identity Template
	if err := json.Unmarshal(b, (*identity)(t)); err != nil {
		return err
	}
	t.Raw = bytes.Clone(b)
	return nil
}

// MarshalJSON returns the whole resource.
func (t Template) MarshalJSON() ([]byte, error) {
	if t.Raw == nil {
		return []byte("{}"), nil
	}
	return t.Raw, nil
}
