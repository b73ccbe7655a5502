package publishedresource

import (
	"path"
	"slices"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/kcp-dev/sdk/apis/core"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// inWorkspace returns a connection to another workspace of the same kcp.
func inWorkspace(c commonv1.Connection, workspace string) commonv1.Connection {
	spec := c.Spec.DeepCopy()
	if spec.KCP == nil {
		spec.KCP = &commonv1.KCPConnection{}
	}
	spec.KCP.WorkspacePath = workspace
	c.Spec = spec
	return c
}

// exportOf returns the name of the APIExport of an APIExportEndpointSlice, empty if there is none, and the path or the
// logical cluster of its workspace, empty if that is the workspace of the slice.
func exportOf(slice *unstructured.Unstructured) (name, workspace string) {
	if slice == nil {
		return "", ""
	}
	name, _, _ = unstructured.NestedString(slice.Object, "spec", "export", "name")
	workspace, _, _ = unstructured.NestedString(slice.Object, "spec", "export", "path")
	return name, workspace
}

// contradicts returns an error if an APIExportEndpointSlice is of an APIExport in another workspace than that of the
// APIExport that a plan names. server is the URL of the workspace of the slice, and export is nil if it does not exist
// yet.
func contradicts(p plan, server string, slice, export *unstructured.Unstructured) error {
	name, workspace := exportOf(slice)
	if workspace == "" || !isAnother(workspace, namesOf(server, slice, export)) {
		return nil
	}
	return errors.Wrapf(errInvalidSpec,
		"APIExportEndpointSlice %q is of APIExport %q in workspace %q, "+
			"and spec.kcp.workspacePath of the ClusterProviderConfig is another one: "+
			"set it to %q, or apiExport.endpointSlice without apiExport.name", p.slice, name, workspace, workspace)
}

// namesOf returns what is known of the path and the logical cluster of a workspace, by its URL and by the annotations
// that kcp sets in it.
func namesOf(server string, in ...*unstructured.Unstructured) []string {
	names := []string{path.Base(server)}
	for _, u := range in {
		if u == nil {
			continue
		}
		for _, key := range []string{core.LogicalClusterPathAnnotationKey, logicalcluster.AnnotationKey} {
			if v, ok := u.GetAnnotations()[key]; ok {
				names = append(names, v)
			}
		}
	}
	return names
}

// isAnother reports whether a workspace is known to be another one than that of some names. A path can only be compared
// with a path, and the name of a logical cluster with such a name.
func isAnother(workspace string, names []string) bool {
	return !slices.Contains(names, workspace) &&
		slices.ContainsFunc(names, func(n string) bool { return isPath(n) == isPath(workspace) })
}

func isPath(workspace string) bool {
	_, single := logicalcluster.NewPath(workspace).Name()
	return !single
}
