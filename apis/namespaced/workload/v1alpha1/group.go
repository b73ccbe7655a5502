package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "workload.crossplane.io", Version: "v1alpha1"}
	// ApplicationGroupVersionKind is the kind KubernetesApplication.
	ApplicationGroupVersionKind = GroupVersion.WithKind("KubernetesApplication")
	// ResourceGroupVersionKind is the kind KubernetesApplicationResource.
	ResourceGroupVersionKind = GroupVersion.WithKind("KubernetesApplicationResource")
)

// Names that other software relies on.
const (
	// FinalizerApplication keeps a KubernetesApplication until its resources are gone.
	FinalizerApplication = "kubernetesapplication.workload.crossplane.io/resources"
	// FinalizerResource keeps a KubernetesApplicationResource until what it has made on its cluster is gone.
	FinalizerResource = "kubernetesapplicationresource.workload.crossplane.io/remote"

	// AnnotationKeyResourceUID is the annotation on all that a KubernetesApplicationResource has made on its cluster.
	// Its value is the UID of that KubernetesApplicationResource, which alone may change and delete it.
	AnnotationKeyResourceUID = "kubernetesapplicationresource.workload.crossplane.io/uid"
	// AnnotationKeyResourceName is the annotation beside it with namespace/name of that KubernetesApplicationResource. One
	// of this namespace and name that has another UID after a restore of the control plane goes on with the resource.
	AnnotationKeyResourceName = "kubernetesapplicationresource.workload.crossplane.io/name"
	// AnnotationKeyApplicationName is the annotation on a KubernetesApplicationResource with the name of the
	// KubernetesApplication that made it. It tells whose it was if its controller reference is gone.
	AnnotationKeyApplicationName = "kubernetesapplication.workload.crossplane.io/name"
	// AnnotationKeyTemplated is the annotation on a KubernetesApplicationResource that lists the keys of the labels and
	// annotations its template has given it, so that they go when the template drops them.
	AnnotationKeyTemplated = "kubernetesapplication.workload.crossplane.io/templated-metadata"

	// FieldManagerScheduler, FieldManagerApplication and FieldManagerResource are the field managers on
	// the control plane.
	FieldManagerScheduler   = "scheduler.workload.crossplane.io"
	FieldManagerApplication = "kubernetesapplication.workload.crossplane.io"
	FieldManagerResource    = "kubernetesapplicationresource.workload.crossplane.io"
	// FieldManagerRemotePrefix precedes the UID of a KubernetesApplicationResource in the field manager on its cluster.
	FieldManagerRemotePrefix = "kubernetesapplicationresource.workload.crossplane.io/"
)

// Reasons of condition Synced beside those of crossplane-runtime, of Objects and of collections.
const (
	// ReasonUnschedulable means that no cluster fits the application.
	ReasonUnschedulable xpv2.ConditionReason = "Unschedulable"
	// ReasonUnscheduled means that a resource has no cluster yet.
	ReasonUnscheduled xpv2.ConditionReason = "Unscheduled"
	// ReasonWaitingForSecret means that a Secret that is to be propagated does not exist.
	ReasonWaitingForSecret xpv2.ConditionReason = "WaitingForSecret"
)

// A State says how far an application or one of its resources has come.
type State string

const (
	// StatePending means that there is no cluster yet.
	StatePending State = "Pending"
	// StateScheduled means that a cluster is chosen, and nothing is submitted to it yet.
	StateScheduled State = "Scheduled"
	// StatePartiallySubmitted means that some resources of an application are submitted.
	StatePartiallySubmitted State = "PartiallySubmitted"
	// StateSubmitted means that the cluster has taken the resource, or all resources of the application, as they
	// are wanted now.
	StateSubmitted State = "Submitted"
	// StateFailed means that the cluster or the control plane refuses the resource, or all resources
	// of the application.
	StateFailed State = "Failed"
	// StateDeleting means that the application or resource is being deleted, and what it has made is not gone yet.
	StateDeleting State = "Deleting"
)

// A ClusterReference names the ProviderConfig of a cluster.
type ClusterReference struct {
	// kind is ProviderConfig (the default) for one in the namespace of the application, or ClusterProviderConfig.
	// +optional
	// +kubebuilder:default=ProviderConfig
	// +kubebuilder:validation:Enum=ProviderConfig;ClusterProviderConfig
	Kind string `json:"kind,omitempty"`

	// name of the ProviderConfig.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// providerConfig returns the reference as users of ProviderConfigs hold it, nil if it is nil.
func (r *ClusterReference) providerConfig() *xpv2.ProviderConfigReference {
	if r == nil {
		return nil
	}
	return &xpv2.ProviderConfigReference{Kind: r.Kind, Name: r.Name}
}
