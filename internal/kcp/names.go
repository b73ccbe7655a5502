package kcp

import (
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources of kcp that this package reads and writes.
var (
	Exports        = apisv1alpha2.SchemeGroupVersion.WithResource("apiexports")
	Bindings       = apisv1alpha2.SchemeGroupVersion.WithResource("apibindings")
	Schemas        = apisv1alpha1.SchemeGroupVersion.WithResource("apiresourceschemas")
	EndpointSlices = apisv1alpha1.SchemeGroupVersion.WithResource("apiexportendpointslices")

	LogicalClusters = schema.GroupVersionResource{
		Group: "core.kcp.io", Version: "v1alpha1", Resource: "logicalclusters",
	}
)

// LogicalCluster is the name of the one resource by which kcp tells of a workspace in that workspace.
const LogicalCluster = "cluster"

// AnnotationCluster is the annotation by which kcp tells the logical cluster of each resource.
const AnnotationCluster = "kcp.io/cluster"

// AnnotationPath is the annotation of some resources, such as bindings, by which kcp tells the path of their workspace.
const AnnotationPath = "kcp.io/path"

// groupCore is how the names of schemas write the core group.
const groupCore = "core"

// ResourceOf returns the resource that a schema of a name describes, and whether it is such a name:
// <prefix>.<resource>.<group>.
func ResourceOf(schemaName string) (schema.GroupResource, bool) {
	parts := strings.SplitN(schemaName, ".", 3)
	if len(parts) < 3 {
		return schema.GroupResource{}, false
	}
	group := parts[2]
	if group == groupCore {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: parts[1]}, true
}
