package v1alpha1

// ResourceMutations are the changes made to objects on their way.
type ResourceMutations struct {
	// spec lists the steps, in order, that change an object on its way from its origin to its destination: all
	// but its status.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Spec []ResourceMutation `json:"spec,omitempty"`

	// status lists the steps, in order, that change the status on its way back to the origin.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Status []ResourceMutation `json:"status,omitempty"`
}

// ResourceMutation is one step, and does exactly one thing.
//
// +kubebuilder:validation:XValidation:rule="[has(self.delete), has(self.regex), has(self.template), has(self.cel)].filter(x, x).size() == 1",message="exactly one of delete, regex, template and cel must be set"
type ResourceMutation struct {
	// delete removes a value.
	// +optional
	Delete *DeleteMutation `json:"delete,omitempty"`

	// regex replaces what a regular expression matches in a value.
	// +optional
	Regex *RegexMutation `json:"regex,omitempty"`

	// template sets a value to the result of a Go template.
	// +optional
	Template *TemplateMutation `json:"template,omitempty"`

	// cel sets a value to the result of a CEL expression.
	// +optional
	CEL *CELMutation `json:"cel,omitempty"`
}

// MutationPath is a path to a value of an object.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type MutationPath string

// DeleteMutation removes a value.
type DeleteMutation struct {
	// path to the value, without a leading dot, for example spec.secretName.
	Path MutationPath `json:"path"`
}

// RegexMutation replaces what a regular expression matches.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.pattern) || "".matches(self.pattern) in [true, false]`,message="pattern must be a regular expression"
type RegexMutation struct {
	// path to the value, without a leading dot, for example spec.secretName.
	Path MutationPath `json:"path"`

	// pattern is a Go regular expression, for texts of up to 16 KiB. Without it the whole value is replaced, however
	// long it is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Pattern string `json:"pattern,omitempty"`

	// replacement replaces the matches of pattern. Groups are ${1}, $1 before a character that is not a letter, digit or
	// underscore, or \1.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Replacement string `json:"replacement,omitempty"`
}

// TemplateMutation sets a value to what a Go template yields.
type TemplateMutation struct {
	// path to the value, without a leading dot, for example spec.secretName.
	Path MutationPath `json:"path"`

	// template is a Go template over Value, the value at path, LocalObject, the object that is changed, RemoteObject,
	// the one on the other side, and the ClusterName and ClusterPath of the workspace.
	// +kubebuilder:validation:MaxLength=16384
	Template string `json:"template"`
}

// CELMutation sets a value to what a CEL expression yields.
type CELMutation struct {
	// path to the value, without a leading dot, for example spec.secretName.
	Path MutationPath `json:"path"`

	// expression is a CEL expression over value, the value at path, self, the object that is changed, and other, the
	// one on the other side.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10000
	Expression string `json:"expression"`
}
