package publishedresource

import (
	"context"
	"path"
	"slices"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	purposeSource    informer.Purpose = "source"    // the CustomResourceDefinition of what is published
	purposeRelated   informer.Purpose = "related"   // those of related resources
	purposeSlice     informer.Purpose = "slice"     // the APIExportEndpointSlice, which may be in another workspace
	purposeWorkspace informer.Purpose = "workspace" // what the workspace of an APIExport holds of it
)

// What a PublishedResource uses beside its workspace, it uses as owners of other names, so that each connection wakes
// it: its own with what the connection is for. See handlers.Targets.
const (
	useSource   = "/source" // of the service cluster
	useExport   = "/export" // of the workspace of the APIExport, if the endpoint slice is in another one
	useEndpoint = "/"       // of an endpoint, whose URL follows
)

// Connections are how PublishedResources reach workspaces, endpoints and service clusters.
type connections struct {
	controller string
	registry   *clusters.Registry
	publisher  *scope.Publisher
}

// connect returns the cluster of a ClusterProviderConfig, and what that says.
func (c *connections) connect(ctx context.Context, owner informer.Owner, config string,
) (commonv1.Connection, *clusters.Cluster, error) {
	var connection commonv1.Connection
	cluster, err := targetresource.Connect(ctx, c.registry, owner, targetresource.Config{
		Key: c.publisher.Key(config), Visits: true, Read: func(ctx context.Context) (_ commonv1.Connection, err error) {
			connection, err = c.publisher.Config(ctx, config)
			return connection, err
		},
	})
	return connection, cluster, errors.Wrapf(err, "ClusterProviderConfig %q", config)
}

// service returns the service cluster of a PublishedResource.
func (c *connections) service(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (*clusters.Cluster, informer.Owner, error) {
	owner := c.owner(o.GetName(), useSource)
	ref := o.Spec.ServiceClusterConfigReference
	if ref == nil {
		c.registry.Release(owner)
		return c.registry.Local(), owner, nil
	}
	c.registry.Local().Watches().Forget(owner)
	_, cluster, err := c.connect(ctx, owner, ref.Name)
	return cluster, owner, errors.Wrap(err, "cannot use service cluster")
}

// forget ends all connections of a PublishedResource.
func (c *connections) forget(name string, endpoints []string) {
	for _, use := range []string{"", useSource, useExport} {
		c.registry.Forget(c.owner(name, use))
	}
	for _, url := range endpoints {
		c.registry.Forget(c.owner(name, useEndpoint+url))
	}
}

func (c *connections) owner(name, use string) informer.Owner {
	return informer.Owner{Controller: c.controller, NamespacedName: types.NamespacedName{Name: name + use}}
}

// A workspace is that of an APIExport, as one pass of a PublishedResource reaches it, and what it holds of the
// APIExport. All of that is shared with the watch.
type workspace struct {
	connections *connections
	name        string         // of the PublishedResource
	owner       informer.Owner // as whom it uses the cluster
	connection  commonv1.Connection
	cluster     *clusters.Cluster
	slices      *clusters.Cluster // the workspace of the APIExportEndpointSlice
	plan        plan

	export  *unstructured.Unstructured // nil if it does not exist
	slice   *unstructured.Unstructured // nil if it does not exist
	schemas []types.NamespacedName     // all there are
	made    string                     // a schema made since
	logical string                     // the logical cluster of the APIExport
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
func (w *workspace) look(ctx context.Context) (err error) {
	w.slice, err = w.cluster.Get(ctx, w.owner, purposeSlice, byName(kcp.EndpointSlices, w.plan.slice))
	w.cluster.Watches().Done(w.owner, purposeSlice)
	if err != nil {
		return errors.Wrap(err, "cannot read APIExportEndpointSlice")
	}
	if err := w.followSlice(ctx); err != nil {
		return err
	}
	if w.export, err = w.readExport(ctx); err != nil {
		return errors.Wrap(err, "cannot read APIExport")
	}
	if w.export != nil {
		w.logical = w.export.GetAnnotations()[kcp.AnnotationCluster]
	}
	w.schemas, err = w.cluster.Watches().Names(ctx, w.owner, purposeWorkspace, allSchemas)
	w.cluster.Watches().Done(w.owner, purposeWorkspace)
	return errors.Wrap(err, "cannot list APIResourceSchemas")
}

// followSlice makes the plan and the connection those of the APIExport that the APIExportEndpointSlice names, unless
// the plan does. It may be in another workspace of the same kcp, which is reached with the same credentials.
func (w *workspace) followSlice(ctx context.Context) error {
	exporter, at := w.connections.owner(w.name, useExport), ""
	if w.plan.export == "" && w.slice != nil {
		w.plan.export, _, _ = unstructured.NestedString(w.slice.Object, "spec", "export", "name")
		at, _, _ = unstructured.NestedString(w.slice.Object, "spec", "export", "path")
	}
	if w.plan.export == "" {
		return errors.Wrapf(kcp.ErrNoExport, "APIExportEndpointSlice %q has no spec.export.name", w.plan.slice)
	}
	if at == "" || at == path.Base(w.cluster.Server()) {
		w.connections.registry.Forget(exporter)
		return nil
	}
	cluster, err := w.connections.registry.Connect(ctx, exporter, inWorkspace(w.connection, at))
	if err != nil {
		return errors.Wrapf(err, "cannot connect to workspace %q, which APIExportEndpointSlice %q names",
			at, w.plan.slice)
	}
	w.cluster, w.owner = cluster, exporter
	return nil
}

// byName returns the watch request for a resource of a name.
func byName(r schema.GroupVersionResource, name string) informer.WatchRequest {
	return informer.WatchRequest{
		Resource: r, NamespacedName: types.NamespacedName{Name: name}, Stream: informer.StreamByName,
	}
}

// allSchemas are the APIResourceSchemas of a workspace.
var allSchemas = informer.WatchRequest{Resource: kcp.Schemas, Stream: informer.StreamNames}

func (w *workspace) readExport(ctx context.Context) (*unstructured.Unstructured, error) {
	return w.cluster.Get(ctx, w.owner, purposeWorkspace, byName(kcp.Exports, w.plan.export))
}

// place returns how the APIExport is read and written.
func (w *workspace) exportClient() kcp.ExportClient {
	return kcp.ExportClient{
		Server: w.cluster.Server(), Name: w.plan.export, Client: w.cluster.Resource(kcp.Exports, ""),
		MayCreate: w.plan.create, Read: w.readExport,
		Put: func(answer *unstructured.Unstructured) { w.cluster.Watches().Put(w.owner, kcp.Exports, answer) },
	}
}

// readSchema returns an APIResourceSchema, nil if it does not exist.
func (w *workspace) readSchema(ctx context.Context, name string) (*apisv1alpha1.APIResourceSchema, error) {
	u, err := w.cluster.Read(ctx, byName(kcp.Schemas, name))
	if err != nil || u == nil {
		return nil, err
	}
	s := &apisv1alpha1.APIResourceSchema{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s)
	return s, errors.Wrapf(err, "cannot read APIResourceSchema %q", name)
}

// deleted reports whether the workspace is being deleted. Without the right to look, it is taken as one that is not.
func (w *workspace) deleted(ctx context.Context) (bool, error) {
	u, err := w.cluster.Resource(kcp.LogicalClusters, "").Get(ctx, kcp.LogicalCluster, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), clusters.IsUnserved(err):
		return false, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot find out whether the workspace is being deleted")
	}
	return u.GetDeletionTimestamp() != nil, nil
}

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
