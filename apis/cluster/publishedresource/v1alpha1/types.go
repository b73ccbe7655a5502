package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "syncagent.kcp.io", Version: "v1alpha1"}
	// PublishedResourceGroupVersionKind is the kind PublishedResource.
	PublishedResourceGroupVersionKind = GroupVersion.WithKind("PublishedResource")
)

// PublishedResourceSpec decides which API is published, where, and how its objects are synced.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.projection) || !has(self.projection.version) || self.projection.version == "" || !has(self.resource.versions) || size(self.resource.versions) < 2`,message="projection.version can only be set if one version is published: use projection.versions"
type PublishedResourceSpec struct {
	// The methods of a managed resource are generated for this struct. It is not part of the API: the fields below hide
	// its own, and there is no connection secret.
	xpv2.ClusterManagedResourceSpec `json:"-"`

	// providerConfigRef names the ClusterProviderConfig of the kcp workspace of the APIExport. The default is that of
	// the provider's flag --default-provider-config, which is default.
	// +optional
	ProviderConfigReference *ConfigReference `json:"providerConfigRef,omitempty"`

	// serviceClusterConfigRef names the ClusterProviderConfig of the service cluster, which has the API and the copies
	// of consumers' objects. The default is the cluster where the provider runs.
	// +optional
	ServiceClusterConfigReference *ConfigReference `json:"serviceClusterConfigRef,omitempty"`

	// apiExport decides which APIExport offers the API. The ClusterProviderConfig provides the fields that are not set
	// here.
	// +optional
	APIExport *commonv1.APIExport `json:"apiExport,omitempty"`

	// agentName identifies the owner of schemas in kcp and of objects on the service cluster, as --agent-name of
	// api-syncagent does. The default is that of the ClusterProviderConfig, else the name of the APIExportEndpointSlice
	// with -syncagent appended. After the first sync the name is fixed, see status.agentName: another name is reported
	// and has no effect.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]([-a-z0-9]*[a-z0-9])?)?$`
	AgentName string `json:"agentName,omitempty"`

	// stateNamespace is the namespace of the sync-state Secrets on the service cluster, as --namespace of api-syncagent.
	// The provider creates it if it is missing. The default is that of the provider's flag --state-namespace,
	// crossplane-system.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	StateNamespace string `json:"stateNamespace,omitempty"`

	// managementPolicies decides what may be done in kcp and on the service cluster. The default is everything.
	// +optional
	// +kubebuilder:default={"*"}
	ManagementPolicies xpv2.ManagementPolicies `json:"managementPolicies,omitempty"`

	// deletionPolicy decides what happens to the published API when the PublishedResource is deleted. Orphan (the
	// default) keeps the APIExport and all objects. Delete unpublishes the API when consumers have no objects left. The
	// default differs from that of other managed resources: api-syncagent keeps what it has published, and no consumer
	// may lose an API because its publisher is deleted by mistake.
	// +optional
	// +kubebuilder:default=Orphan
	DeletionPolicy xpv2.DeletionPolicy `json:"deletionPolicy,omitempty"`

	// resource names the API of the service cluster that is published.
	Resource SourceResource `json:"resource"`

	// filter restricts which objects of consumers are synced. The default is all.
	// +optional
	Filter *ResourceFilter `json:"filter,omitempty"`

	// naming sets the names of copies on the service cluster. The default names cannot collide. Choose others with care,
	// as the same name and namespace exist in many workspaces.
	// +optional
	Naming *ResourceNaming `json:"naming,omitempty"`

	// createdNamespaces decides about namespaces that the provider creates on the service cluster for copies and copies
	// of related objects: their labels, their annotations and their deletion. Existing namespaces do not change.
	// +optional
	CreatedNamespaces *CreatedNamespaces `json:"createdNamespaces,omitempty"`

	// existingObjects decides what happens if the service cluster already has an object at the location of a copy, and
	// that object is not a copy. AdoptIfExclusive (the default) makes it the copy if naming includes the logical cluster
	// in the name or namespace, alone or after a constant, so that no other workspace can have an object there; else it
	// rejects the object. Adopt always makes it the copy: consumers that choose names can then adopt, and delete, any
	// object that they can name. Both keep differing values until they change at the source, as api-syncagent does.
	// Overwrite is Adopt, and writes differing values at once, also in existing copies of related objects. Refuse keeps
	// the object, and its consumer gets an event. A copy of another object is always rejected.
	// +optional
	// +kubebuilder:default=AdoptIfExclusive
	// +kubebuilder:validation:Enum=AdoptIfExclusive;Adopt;Overwrite;Refuse
	ExistingObjects ExistingObjectsPolicy `json:"existingObjects,omitempty"`

	// enableWorkspacePaths records the path of the workspace on each copy, next to the name of its logical cluster, and
	// provides it to templates as ClusterPath. It adds a permission claim for logicalclusters of core.kcp.io to the
	// APIExport. The default is false.
	// +optional
	EnableWorkspacePaths bool `json:"enableWorkspacePaths,omitempty"`

	// projection changes the type that consumers see: its group, versions, names and scope. The contents of objects do
	// not change.
	// +optional
	Projection *ResourceProjection `json:"projection,omitempty"`

	// schemaUpdates decides which changes of the API on the service cluster are published. All (the default) publishes
	// each change. Compatible publishes only a change after which every object that the published schema accepts is
	// certainly accepted, for example a new optional field. It holds back any other change as a whole, for example
	// another type, even a wider one: the APIExport keeps its schema, objects are synced by it, and condition
	// SchemaPublished has reason IncompatibleChange until the change is reverted or All is set. Changes of projection
	// and resource.versions are always published.
	// +optional
	// +kubebuilder:default=All
	// +kubebuilder:validation:Enum=All;Compatible
	SchemaUpdates SchemaUpdatePolicy `json:"schemaUpdates,omitempty"`

	// mutation changes objects on their way to the service cluster, and their status on its way back.
	// +optional
	Mutation *ResourceMutations `json:"mutation,omitempty"`

	// related lists further objects that are synced with each object, for example the Secret of a Certificate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.identifier) ? a.identifier : a.kind.lowerAscii()) == (has(b.identifier) ? b.identifier : b.kind.lowerAscii())))",message="each identifier must be unique; its default is the kind in lower case"
	Related []RelatedResource `json:"related,omitempty"`

	// synchronization can be disabled, so that only the schema is published. It is enabled by default.
	// +optional
	Synchronization *Synchronization `json:"synchronization,omitempty"`
}

// A ConfigReference names a ClusterProviderConfig.
type ConfigReference struct {
	// name of the ClusterProviderConfig.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// Synchronization decides whether objects are synced.
type Synchronization struct {
	// enabled decides whether objects are synced. If false, only the schema is published, for a resource that is only a
	// related resource of another PublishedResource.
	Enabled bool `json:"enabled"`
}

// A PublishedResource offers an API of a service cluster to the workspaces of a kcp, and syncs the objects that
// consumers create there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,managed,kcp},shortName=pubres
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.resourceSchemaName) || (self.spec.resource.apiGroup == oldSelf.spec.resource.apiGroup && self.spec.resource.kind == oldSelf.spec.resource.kind)",message="the group and kind of spec.resource cannot change once the API is published: create another PublishedResource"
// +kubebuilder:validation:XValidation:rule=`!has(oldSelf.status) || !has(oldSelf.status.workspaces) || oldSelf.status.workspaces.bound == 0 || ((has(self.spec.projection) && has(self.spec.projection.group) ? self.spec.projection.group : "") == (has(oldSelf.spec.projection) && has(oldSelf.spec.projection.group) ? oldSelf.spec.projection.group : "") && (has(self.spec.projection) && has(self.spec.projection.kind) ? self.spec.projection.kind : "") == (has(oldSelf.spec.projection) && has(oldSelf.spec.projection.kind) ? oldSelf.spec.projection.kind : "") && (has(self.spec.projection) && has(self.spec.projection.plural) ? self.spec.projection.plural : "") == (has(oldSelf.spec.projection) && has(oldSelf.spec.projection.plural) ? oldSelf.spec.projection.plural : "") && (has(self.spec.projection) && has(self.spec.projection.scope) ? self.spec.projection.scope : "") == (has(oldSelf.spec.projection) && has(oldSelf.spec.projection.scope) ? oldSelf.spec.projection.scope : ""))`,message="group, kind, plural and scope of spec.projection cannot change while workspaces have bound the API: create another PublishedResource"
// +kubebuilder:selectablefield:JSONPath=".spec.resource.kind"
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.resource.kind"
// +kubebuilder:printcolumn:name="PUBLISHED",type="string",JSONPath=".status.conditions[?(@.type=='ExportUpdated')].status"
// +kubebuilder:printcolumn:name="BOUND",type="integer",JSONPath=".status.workspaces.bound"
// +kubebuilder:printcolumn:name="OBJECTS",type="integer",JSONPath=".status.objects.synced"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.objects.failed"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="PROVIDERCONFIG",type="string",JSONPath=".spec.providerConfigRef.name",priority=1
// +kubebuilder:printcolumn:name="EXPORT",type="string",JSONPath=".status.apiExport",priority=1
// +kubebuilder:printcolumn:name="SCHEMA",type="string",JSONPath=".status.resourceSchemaName",priority=1
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.status=='False')].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.status=='False')].message",priority=1
type PublishedResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PublishedResourceSpec   `json:"spec"`
	Status PublishedResourceStatus `json:"status,omitempty"`
}

// PublishedResourceList is a list of PublishedResources.
//
// +kubebuilder:object:root=true
type PublishedResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PublishedResource `json:"items"`
}
