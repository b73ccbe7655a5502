package publishedresource

import (
	"context"
	"slices"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

const (
	// purposeSlice is the APIExportEndpointSlice, which may be in another workspace than the APIExport.
	purposeSlice informer.Purpose = "slice"
	// purposeWorkspace is what the workspace of an APIExport holds of it.
	purposeWorkspace informer.Purpose = "workspace"
)

// A workspace is what the workspace of an APIExport holds of it. All of it is shared with the watch.
type workspace struct {
	export  *unstructured.Unstructured // nil if it does not exist
	slice   *unstructured.Unstructured // nil if it does not exist
	schemas []types.NamespacedName     // all there are
	made    string                     // a schema made since
	cluster string                     // the logical cluster of the APIExport
}

func (w *workspace) hasSchema(name string) bool {
	return w.made == name || slices.Contains(w.schemas, types.NamespacedName{Name: name})
}

// schemaOf returns the name of the schema by which a resource is exported, empty if it is not.
func (w *workspace) schemaOf(r schema.GroupResource) string {
	if w.export == nil {
		return ""
	}
	return kcp.SchemaOf(w.export, r)
}

func (w *workspace) offers(r schema.GroupResource) bool { return w.schemaOf(r) != "" }

// look looks at the workspace. Schemas never change, so that only their names are watched.
func (e *external) look(ctx context.Context) error {
	e.state = &workspace{}
	slice := e.sliceInterest()
	e.cluster.Watches().Track(e.owner, purposeSlice, slice)
	named := e.plan.export != ""
	if named {
		e.registry.Forget(e.connector.owner(e.name, controllerExport))
		e.trackExport()
	}
	var err error
	if e.state.slice, err = e.cluster.Get(ctx, e.owner, slice); err != nil {
		return errors.Wrap(err, "cannot look at APIExportEndpointSlice")
	}
	if !named {
		if err := e.followSlice(ctx); err != nil {
			return err
		}
	}
	if e.state.export, err = e.cluster.Get(ctx, e.owner, e.trackExport()); err != nil {
		return errors.Wrap(err, "cannot look at APIExport")
	}
	if e.state.export != nil {
		e.state.cluster = e.state.export.GetAnnotations()[kcp.AnnotationCluster]
	}
	if named {
		if err := contradicts(e.plan, e.cluster.Server(), e.state.slice, e.state.export); err != nil {
			return err
		}
	}
	e.state.schemas, err = e.cluster.Watches().Names(ctx, e.owner, allSchemas)
	return errors.Wrap(err, "cannot list APIResourceSchemas")
}

// readSchema returns an APIResourceSchema, nil if it does not exist.
func (e *external) readSchema(ctx context.Context, name string) (*apisv1alpha1.APIResourceSchema, error) {
	i := informer.Interest{Resource: kcp.Schemas, NamespacedName: types.NamespacedName{Name: name}}
	u, err := e.cluster.Read(ctx, i)
	if err != nil || u == nil {
		return nil, err
	}
	s := &apisv1alpha1.APIResourceSchema{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s)
	return s, errors.Wrapf(err, "cannot read APIResourceSchema %q", name)
}

// sliceInterest returns the interest in the APIExportEndpointSlice.
func (e *external) sliceInterest() informer.Interest {
	return informer.Interest{
		Resource: kcp.EndpointSlices, NamespacedName: types.NamespacedName{Name: e.plan.slice},
		Stream: informer.StreamByName,
	}
}

// allSchemas are the APIResourceSchemas of a workspace.
var allSchemas = informer.Interest{Resource: kcp.Schemas, Stream: informer.StreamNames}

// trackExport has the PublishedResource woken when its APIExport or an APIResourceSchema changes, and returns the
// interest in the APIExport.
func (e *external) trackExport() informer.Interest {
	export := informer.Interest{
		Resource: kcp.Exports, NamespacedName: types.NamespacedName{Name: e.plan.export}, Stream: informer.StreamByName,
	}
	e.cluster.Watches().Track(e.owner, purposeWorkspace, allSchemas, export)
	return export
}

// exportPlace returns how the APIExport is read and written.
func (e *external) exportPlace() kcp.Place {
	return kcp.Place{
		Server: e.cluster.Server(), Name: e.plan.export, Client: e.cluster.Resource(kcp.Exports, ""),
		MayCreate: e.plan.create,
		Read: func(ctx context.Context) (*unstructured.Unstructured, error) {
			return e.cluster.Get(ctx, e.owner, e.trackExport())
		},
		Put: func(answer *unstructured.Unstructured) { e.cluster.Watches().Put(e.owner, kcp.Exports, answer) },
	}
}
