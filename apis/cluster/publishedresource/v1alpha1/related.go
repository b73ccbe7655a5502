package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Origin is the side on which a related resource is made.
//
// +kubebuilder:validation:Enum=service;kcp
type Origin string

const (
	// OriginService means that related objects are made on the service cluster and copied to the workspace.
	OriginService Origin = "service"
	// OriginKCP means that related objects are made in the workspace and copied to the service cluster.
	OriginKCP Origin = "kcp"
)

// RelatedResource describes objects that are synced with each object of a consumer.
//
// +kubebuilder:validation:XValidation:rule="has(self.kind) != (has(self.version) || has(self.resource))",message="either kind or version and resource must be set"
// +kubebuilder:validation:XValidation:rule="has(self.resource) == has(self.version)",message="version and resource must be set together"
// +kubebuilder:validation:XValidation:rule="!has(self.group) || (has(self.resource) && has(self.version))",message="group can only be set together with version and resource"
// +kubebuilder:validation:XValidation:rule="!has(self.identityHash) || (has(self.group) && has(self.version) && has(self.resource))",message="identityHash can only be set together with group, version and resource"
// +kubebuilder:validation:XValidation:rule="has(self.object) != has(self.reference)",message="exactly one of object and reference must be set: use object"
// +kubebuilder:validation:XValidation:rule="has(self.identifier) || (has(self.reference) && has(self.kind))",message="identifier must be set"
// +kubebuilder:validation:XValidation:rule="self.origin != 'service' || !has(self.identifier) || size(self.identifier) <= 61",message="identifier can have at most 61 characters if origin is service: shorten it"
type RelatedResource struct {
	// identifier is the name of the related resource for consumers, for example tls-secret. It is unique in the
	// PublishedResource. It is optional with reference only, where the default is the kind in lower case.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Identifier string `json:"identifier,omitempty"`

	// origin is the side on which the objects are created: service, the service cluster, or kcp, the workspace.
	Origin Origin `json:"origin"`

	// group is the API group of the objects at their origin. The core group is the empty string.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// version is the API version of the objects at their origin.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// resource is the plural name of the objects at their origin, for example secrets.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource,omitempty"`

	// kind is ConfigMap or Secret. Newer PublishedResources use group, version and resource.
	// +optional
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind,omitempty"`

	// identityHash is the identity of the APIExport that offers the resource in kcp, if it is not built in and
	// not published here.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	IdentityHash string `json:"identityHash,omitempty"`

	// cleanup decides whether the copies are deleted with the object of the consumer. The default is false; copies on the
	// service cluster are always deleted.
	// +optional
	Cleanup bool `json:"cleanup,omitempty"`

	// projection sets the type of the copies, if it differs from the type of the objects: in kcp for origin service, and
	// on the service cluster for origin kcp.
	// +optional
	Projection *RelatedResourceProjection `json:"projection,omitempty"`

	// object describes how the objects are found at the origin, and how their copies are named.
	// +optional
	Object *RelatedResourceObject `json:"object,omitempty"`

	// reference is the form of object that the first versions of api-syncagent had.
	// +optional
	Reference *RelatedResourceReference `json:"reference,omitempty"`

	// consumerMayName lists further objects of the service cluster that consumers may name as related objects, in the
	// fields, labels and annotations of their own objects that object reads. Without it, an object that a consumer names
	// is used only if it belongs to the workspace: it is in a namespace, or has a name, that begins with the name of the
	// logical cluster, alone or after a constant; or the copy owns it. Any other object is rejected with an event.
	// Objects that object names by constants need no listing.
	// +optional
	ConsumerMayName *ConsumerMayName `json:"consumerMayName,omitempty"`

	// mutation changes the objects on their way from their origin. Their status is changed by steps for status on
	// the same way.
	// +optional
	Mutation *ResourceMutations `json:"mutation,omitempty"`

	// watch is accepted for compatibility with api-syncagent and has no effect: related objects are always watched.
	// +optional
	Watch *RelatedResourceWatch `json:"watch,omitempty"`

	// syncStatus decides whether the status is copied with the objects. The default is false.
	// +optional
	SyncStatus bool `json:"syncStatus,omitempty"`
}

// NamePattern is a name in which * stands for any characters, and $remoteClusterName for the name of
// the logical cluster.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^([a-z0-9.*-]|[$]remoteClusterName)+$`
type NamePattern string

// ConsumerMayName lists objects of the service cluster that consumers may name. With origin service a consumer can read
// each of them, and with origin kcp make each of them, unless another workspace has it already.
type ConsumerMayName struct {
	// namespaces are patterns of the namespaces whose objects may be named, if objects names them. kube-system,
	// kube-public, kube-node-lease, the namespace of states and namespaces with nothing but copies of other workspaces
	// never may.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Namespaces []NamePattern `json:"namespaces,omitempty"`

	// objects are patterns of the names of objects that may be named, in whichever namespace object leads to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objects []NamePattern `json:"objects,omitempty"`
}

// RelatedResourceProjection decides what related objects are in kcp.
type RelatedResourceProjection struct {
	// group is the API group of the copies. The default is that of the related resource.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// version is the API version of the copies. The default is that of the related resource.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// resource is the plural name of the copies. The default is that of the related resource.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource,omitempty"`
}

// RelatedResourceObject describes how related objects are found and named.
//
// +kubebuilder:validation:XValidation:rule="[has(self.selector), has(self.reference), has(self.template)].filter(x, x).size() == 1",message="exactly one of selector, reference and template must be set"
type RelatedResourceObject struct {
	RelatedResourceObjectSpec `json:",inline"`

	// namespace describes how the namespaces of the objects are found and named. The default is the namespace of the
	// consumer's object and of its copy. It must be set if one of these is cluster-scoped.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.selector), has(self.reference), has(self.template)].filter(x, x).size() == 1",message="exactly one of selector, reference and template must be set"
	Namespace *RelatedResourceObjectSpec `json:"namespace,omitempty"`
}

// RelatedResourceObjectSpec says in one of three ways how objects or namespaces are found and named.
type RelatedResourceObjectSpec struct {
	// selector finds them by their labels.
	// +optional
	Selector *RelatedResourceSelector `json:"selector,omitempty"`

	// reference finds them by a field of the consumer's object, and names copies by the same field of the other side.
	// +optional
	Reference *FieldReference `json:"reference,omitempty"`

	// template finds and names them by a Go template.
	// +optional
	Template *TemplateExpression `json:"template,omitempty"`
}

// FieldReference is a field of the consumer's object and of its copy.
type FieldReference struct {
	// path to the field, without a leading dot, for example spec.secretName or spec.items.#.name. It may return several
	// names, as many on one side as on the other. If a field is missing, there is no object yet.
	Path MutationPath `json:"path"`

	// regex changes the value of the field.
	// +optional
	Regex *RegularExpression `json:"regex,omitempty"`
}

// RelatedResourceSelector finds objects by their labels, and names their copies.
type RelatedResourceSelector struct {
	// The selector selects at the origin. Keys and values of matchLabels may be Go templates.
	metav1.LabelSelector `json:",inline"`

	// rewrite derives the name of a copy from the name of the object, so that names of one side are not exposed on the
	// other side.
	Rewrite SelectorRewrite `json:"rewrite"`
}

// SelectorRewrite makes the name of a copy.
//
// +kubebuilder:validation:XValidation:rule="has(self.regex) != has(self.template)",message="exactly one of regex and template must be set"
type SelectorRewrite struct {
	// regex replaces what a regular expression matches in the name.
	// +optional
	Regex *RegularExpression `json:"regex,omitempty"`

	// template returns the name.
	// +optional
	Template *TemplateExpression `json:"template,omitempty"`
}

// RegularExpression replaces what it matches.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.pattern) || "".matches(self.pattern) in [true, false]`,message="pattern must be a regular expression"
type RegularExpression struct {
	// pattern is a Go regular expression, for texts of up to 16 KiB. Without it the whole value is replaced, however
	// long it is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Pattern string `json:"pattern,omitempty"`

	// replacement takes the place of what pattern matches. Groups are ${1}, $1 where no letter, digit or underscore
	// follows, or \1.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Replacement string `json:"replacement,omitempty"`
}

// TemplateExpression is a Go template.
type TemplateExpression struct {
	// template is a Go template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Template string `json:"template"`
}

// RelatedResourceWatch is how api-syncagent found the consumer's object that a related object belongs to. Nothing
// acts on it here.
//
// +kubebuilder:validation:XValidation:rule="has(self.byOwner) != has(self.bySelector)",message="exactly one of byOwner and bySelector must be set"
type RelatedResourceWatch struct {
	// byOwner has api-syncagent watch owner references.
	// +optional
	ByOwner *WatchByOwner `json:"byOwner,omitempty"`

	// bySelector selects the copies that api-syncagent reconciles after a change.
	// +optional
	BySelector *metav1.LabelSelector `json:"bySelector,omitempty"`
}

// WatchByOwner has no options.
type WatchByOwner struct{}

// RelatedResourceReference names one related object in the form of the first versions of api-syncagent.
type RelatedResourceReference struct {
	// name is the field that holds the name of the object.
	Name FieldReference `json:"name"`

	// namespace is the field that holds the namespace of the object. The default is the namespace of
	// the consumer's object.
	// +optional
	Namespace *FieldReference `json:"namespace,omitempty"`
}
