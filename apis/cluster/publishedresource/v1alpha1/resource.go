package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SourceResource names an API of the service cluster.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.version) || self.version == "" || !has(self.versions) || size(self.versions) == 0`,message="version and versions cannot both be set: use versions"
type SourceResource struct {
	// apiGroup is the API group, for example cert-manager.io. The core group is the empty string.
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup"`

	// kind of the resource, for example Certificate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// version is the one version to publish. Newer PublishedResources use versions.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// versions are the versions to publish. Only served ones can be. The default is all that are served.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Versions []string `json:"versions,omitempty"`
}

// ResourceFilter selects objects of consumers. An object must pass both parts.
type ResourceFilter struct {
	// namespace selects objects by their namespace: a text is the name of the one namespace, a label selector selects
	// by the labels that namespaces have in the workspace. A label selector needs a permission claim for namespaces,
	// which is added to the APIExport.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Namespace *apiextensionsv1.JSON `json:"namespace,omitempty"`

	// resource selects objects by their own labels.
	// +optional
	Resource *metav1.LabelSelector `json:"resource,omitempty"`
}

// ResourceNaming is how copies are named. A text with {{ is a Go template over ClusterName, ClusterPath and Object,
// the consumer's object. In any other, placeholders are replaced: $remoteClusterName, $remoteNamespace,
// $remoteNamespaceHash, $remoteName and $remoteNameHash, where a hash is the first 20 hexadecimal digits of SHA-1.
type ResourceNaming struct {
	// name of a copy. The default is
	// {{ .Object.metadata.namespace | sha3short }}-{{ .Object.metadata.name | sha3short }}.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// namespace of a copy, if the resource is namespaced on the service cluster. The default is {{ .ClusterName }}.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Namespace string `json:"namespace,omitempty"`
}

// CreatedNamespaces decides about namespaces that are created on the service cluster.
type CreatedNamespaces struct {
	// labels of such a namespace. Values may be Go templates over ClusterName and ClusterPath.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of such a namespace. Values may be Go templates over ClusterName and ClusterPath.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`

	// whenEmpty decides what happens to such a namespace after the last copy in it is deleted: Orphan (the default)
	// keeps it, Delete deletes it if it contains no other resources.
	// +optional
	// +kubebuilder:default=Orphan
	WhenEmpty xpv2.DeletionPolicy `json:"whenEmpty,omitempty"`
}

// ExistingObjectsPolicy decides what happens to objects that have the name of a copy.
type ExistingObjectsPolicy string

const (
	// ExistingObjectsAdoptIfExclusive makes an object that belongs to no one the copy where no other workspace can have
	// objects, and refuses it elsewhere. It is the default.
	ExistingObjectsAdoptIfExclusive ExistingObjectsPolicy = "AdoptIfExclusive"
	// ExistingObjectsAdopt makes an object that belongs to no one the copy. What differs stays until it changes
	// at the source.
	ExistingObjectsAdopt ExistingObjectsPolicy = "Adopt"
	// ExistingObjectsRefuse leaves such an object, and reports it.
	ExistingObjectsRefuse ExistingObjectsPolicy = "Refuse"
	// ExistingObjectsOverwrite makes such an object the copy, with the content of the source from then on.
	ExistingObjectsOverwrite ExistingObjectsPolicy = "Overwrite"
)

// SchemaUpdatePolicy decides which changes of an API are published.
type SchemaUpdatePolicy string

const (
	// SchemaUpdatesAll publishes each change. It is the default.
	SchemaUpdatesAll SchemaUpdatePolicy = "All"
	// SchemaUpdatesCompatible holds changes back after which objects of consumers may not be accepted any more.
	SchemaUpdatesCompatible SchemaUpdatePolicy = "Compatible"
)

// ResourceScope decides whether objects of a type live in namespaces.
//
// +kubebuilder:validation:Enum=Cluster;Namespaced
type ResourceScope string

// Scopes, as a CustomResourceDefinition names them.
const (
	ScopeCluster    ResourceScope = "Cluster"
	ScopeNamespaced ResourceScope = "Namespaced"
)

// VersionName is the name of a version that kcp can serve.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(v[1-9][0-9]*([a-z]+[1-9][0-9]*)?)?$`
type VersionName string

// ResourceProjection changes what consumers see of the type. What is not set stays as it is on the service cluster.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.version) || self.version == "" || !has(self.versions) || size(self.versions) == 0`,message="version and versions cannot both be set: use versions"
type ResourceProjection struct {
	// group is the API group in kcp, for example certs.example.com. It must contain a dot. It has at most 179
	// characters, so that the name of an APIResourceSchema fits the plural and a hash.
	// +optional
	// +kubebuilder:validation:MaxLength=179
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+)?$`
	Group string `json:"group,omitempty"`

	// version is the name of the version in kcp, if only one is published. Newer PublishedResources use versions.
	// +optional
	Version VersionName `json:"version,omitempty"`

	// versions gives versions other names in kcp. Keys are names on the service cluster, values are names in kcp.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self[a] == '' || self.exists_one(b, self[a] == self[b]))",message="no two versions can have the same name in kcp"
	Versions map[string]VersionName `json:"versions,omitempty"`

	// scope is Cluster or Namespaced. A change of the scope can require mutation, and names that cannot collide.
	// +optional
	Scope ResourceScope `json:"scope,omitempty"`

	// kind in kcp. It also decides about the list kind (List appended), the singular (in lower case) and the plural
	// (the singular with s appended). It has at most 59 characters, so that List can be appended.
	// +optional
	// +kubebuilder:validation:MaxLength=59
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?)?$`
	Kind string `json:"kind,omitempty"`

	// plural is the name of the resource in kcp. Capital letters are converted to lower case, as kcp requires.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?)?$`
	Plural string `json:"plural,omitempty"`

	// shortNames in kcp. An empty list removes all. By default the short names are those on the service cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ShortNames []string `json:"shortNames,omitzero"`

	// categories in kcp. An empty list removes all. By default the categories are those on the service cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Categories []string `json:"categories,omitzero"`

	// crossplaneFields lists the fields that Crossplane adds to every composite resource and claim, such as
	// compositionSelector, that consumers see and set. The schema in kcp omits all others, so that the publisher sets
	// them, for example by steps of mutation. The default is none; an asterisk means all. The field has no effect on
	// types that Crossplane has not created.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	CrossplaneFields []CrossplaneField `json:"crossplaneFields,omitempty"`
}

// CrossplaneField is a field that Crossplane adds to the spec of composite resources, in some versions below
// spec.crossplane, or of claims.
//
// +kubebuilder:validation:Enum="*";claimRef;compositeDeletePolicy;compositionRef;compositionRevisionRef;compositionRevisionSelector;compositionSelector;compositionUpdatePolicy;environmentConfigRefs;publishConnectionDetailsTo;resourceRef;resourceRefs;writeConnectionSecretToRef
type CrossplaneField string

// CrossplaneFieldsAll stands for all of them, those of the status included.
const CrossplaneFieldsAll CrossplaneField = "*"

// A NamespaceSelection is what a ResourceFilter says of namespaces. Only one of its fields is set.
//
// +kubebuilder:object:generate=false
type NamespaceSelection struct {
	// Name of the one namespace.
	Name string
	// Labels select namespaces.
	Labels labels.Selector
}

// Namespaces reads the filter of namespaces. It fails if that is neither the name of a namespace nor a label selector.
// No filter selects by no name and no labels, which is every namespace.
func (f *ResourceFilter) Namespaces() (NamespaceSelection, error) {
	if f.Namespace == nil || len(f.Namespace.Raw) == 0 {
		return NamespaceSelection{}, nil
	}
	raw := f.Namespace.Raw
	var name string
	if json.Unmarshal(raw, &name) == nil {
		if name == "" {
			return NamespaceSelection{}, fmt.Errorf("%s is not the name of a namespace", raw)
		}
		return NamespaceSelection{Name: name}, nil
	}
	selector := &metav1.LabelSelector{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(selector); err != nil {
		return NamespaceSelection{}, fmt.Errorf("it is neither a name nor a label selector: %w", err)
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return NamespaceSelection{}, fmt.Errorf("it is not a label selector: %w", err)
	}
	return NamespaceSelection{Labels: s}, nil
}
