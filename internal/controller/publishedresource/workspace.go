package publishedresource

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// purposeWorkspace is what the workspace of an APIExport holds of it.
const purposeWorkspace watch.Purpose = "workspace"

// A workspace is what the workspace of an APIExport holds of it. All of it is shared with the watch.
type workspace struct {
	export  *unstructured.Unstructured // nil if it does not exist
	slice   *unstructured.Unstructured // nil if it does not exist
	schemas []types.NamespacedName     // all there are
	made    string                     // a schema made since
}

func (w *workspace) hasSchema(name string) bool {
	return w.made == name || slices.Contains(w.schemas, types.NamespacedName{Name: name})
}

// schemaOf returns the name of the schema by which a resource is exported, empty if it is not.
func (w *workspace) schemaOf(r schema.GroupResource) string {
	if w.export == nil {
		return ""
	}
	return kcp.NewDraft("", w.export).Schema(r)
}

func (w *workspace) offers(r schema.GroupResource) bool { return w.schemaOf(r) != "" }

// look looks at the workspace. Schemas never change, so that only their names are watched.
func (e *external) look(ctx context.Context) error {
	slice := watch.Interest{Resource: kcp.EndpointSlices, NamespacedName: types.NamespacedName{Name: e.plan.slice}, Scope: watch.ScopeName}
	schemas := watch.Interest{Resource: kcp.Schemas, Scope: watch.ScopeSelection}
	e.state = &workspace{}
	var err error
	if e.plan.export == "" {
		e.cluster.Watches().Track(e.owner, purposeWorkspace, slice, schemas)
		if e.state.slice, err = e.cluster.See(ctx, e.owner, slice); err != nil {
			return errors.Wrap(err, "cannot look at APIExportEndpointSlice")
		}
		if e.plan.export = exportOf(e.state.slice); e.plan.export == "" {
			return errors.Wrapf(kcp.ErrNoExport, "APIExportEndpointSlice %q names none", e.plan.slice)
		}
	}
	export := watch.Interest{Resource: kcp.Exports, NamespacedName: types.NamespacedName{Name: e.plan.export}, Scope: watch.ScopeName}
	e.cluster.Watches().Track(e.owner, purposeWorkspace, slice, schemas, export)
	if e.state.slice, err = e.cluster.See(ctx, e.owner, slice); err != nil {
		return errors.Wrap(err, "cannot look at APIExportEndpointSlice")
	}
	if e.state.export, err = e.cluster.See(ctx, e.owner, export); err != nil {
		return errors.Wrap(err, "cannot look at APIExport")
	}
	e.state.schemas, err = e.cluster.Watches().Names(ctx, e.owner, schemas)
	return errors.Wrap(err, "cannot list APIResourceSchemas")
}

// exportOf returns the name of the APIExport of an APIExportEndpointSlice, empty if there is none.
func exportOf(slice *unstructured.Unstructured) string {
	if slice == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(slice.Object, "spec", "export", "name")
	return name
}

// exportPlace returns how the APIExport is written.
func (e *external) exportPlace() kcp.Place {
	return kcp.Place{Key: e.cluster, Client: e.cluster.Resource(kcp.Exports, ""), Name: e.plan.export, MayCreate: e.plan.create}
}

// writing brackets a write of the APIExport.
func (e *external) writing() func(*unstructured.Unstructured) {
	return e.cluster.Watches().Writing(e.owner, kcp.Exports, types.NamespacedName{Name: e.plan.export})
}
