package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
)

// A withdrawal withdraws the APIs of deleted PublishedResources. It goes by what a PublishedResource has last
// published: what the source is by now does not matter. One write removes the API and its claims. Claims that appear
// later belong to another publisher, maybe of another control plane: removing them, too, would never end.
type withdrawal struct {
	publisher *publisher
	consumers *consumers
}

// recall finds out what has been published. Without a source the schema tells, and there are no copies.
func (u *publisher) recall(ctx context.Context, p *pass) error {
	err := u.desire(ctx, p)
	name := p.resource.Status.ResourceSchemaName
	r, ok := kcp.ResourceOf(name)
	if !errors.Is(err, errSourceMissing) || !ok {
		return err
	}
	stored, err := storedKind(ctx, p.workspace, r)
	if err != nil {
		return err
	}
	p.resource = p.resource.DeepCopy()
	p.resource.Spec.Related = nil // Their definitions may have gone, too. States tell what was copied.
	above, err := findAbove(ctx, p, stored)
	below := above
	below.Group, below.Kind = p.resource.Spec.Resource.APIGroup, p.resource.Spec.Resource.Kind
	p.wanted = &desiredAPI{projected: projected{
		schema: name, resource: r, kind: stored.GroupVersion().WithKind(above.Kind),
		pair: objectsync.Pair{Workspace: above, Service: below},
	}}
	return err
}

// messageUnknown is what is said if nobody can tell whether an API is used.
const messageUnknown = "cannot tell whether consumers still have objects; deletionPolicy: Orphan does not wait for this"

// look looks at the workspace, and ends the pass if there is nothing to withdraw from. Objects of consumers are out of
// reach then. Where only an APIExportEndpointSlice tells of the APIExport, that is not known without it.
func (w *withdrawal) look(ctx context.Context, p *pass) error {
	err, status := p.workspace.look(ctx), p.resource.Status
	switch {
	case p.workspace.plan.export == "" && status.ResourceSchemaName != "":
		return errors.Wrap(err, messageUnknown)
	case !errors.Is(err, kcp.ErrNoExport) && (err != nil || p.workspace.export != nil):
		return err
	case status.AgentName != "" && status.Workspaces != nil && status.Workspaces.Bound > 0:
		p.record(event.Warning(reasonStillHeld, errors.Errorf(
			"APIExport %q does not exist, and %d workspaces have bound it: if they have objects of the API, "+
				"consumers have to take finalizer %s off them by hand", status.APIExport, status.Workspaces.Bound,
			objectsync.Finalizer)))
	}
	return subreconciler.ErrStop
}

// serve has the objects of consumers synced of an API that is being withdrawn: they cannot go otherwise. Without a
// source there is nothing to sync to.
func (w *withdrawal) serve(ctx context.Context, p *pass) error {
	if isSyncStopped(p.resource) || w.publisher.desire(ctx, p) != nil {
		return nil //nolint:nilerr // What is to be withdrawn does not depend on a source.
	}
	if err := w.consumers.observe(ctx, p); err != nil {
		return err
	}
	return w.consumers.serve(ctx, p)
}

// compare finds out whether there is something left to withdraw.
func (w *withdrawal) compare(ctx context.Context, p *pass) (err error) {
	p.upToDate = true
	_, p.exists, err = offered(ctx, p)
	return err
}

// offered returns the resource that the APIExport offers for the PublishedResource, and whether it does: by the schema
// that is recorded, or by one of the same owner if the PublishedResource was interrupted before it could record that.
func offered(ctx context.Context, p *pass) (schema.GroupResource, bool, error) {
	recorded := p.resource.Status.ResourceSchemaName
	r, ok := kcp.ResourceOf(recorded)
	name := p.workspace.schemaOf(r)
	if !ok || name == "" || name == recorded {
		return r, ok && name != "", nil
	}
	s, err := p.workspace.readSchema(ctx, name)
	return r, s != nil && s.Labels[v1alpha1.LabelKeyAgentName] == p.workspace.plan.agent, err
}

// await returns an error that says how many objects consumers have, and where, as long as they have any. Where watches
// show none, kcp is asked: they may lag behind, and what is created meanwhile could not be reached any more. The
// PublishedResource is woken when one goes, and when the watch shows one.
func (w *withdrawal) await(ctx context.Context, p *pass) error {
	r, ours, err := offered(ctx, p)
	if err != nil {
		return err
	}
	if !ours {
		return subreconciler.ErrStop
	}
	objects, err := w.count(ctx, p, r, (*endpoint).list)
	if err == nil && len(objects) == 0 {
		slice := byName(kcp.EndpointSlices, p.workspace.plan.slice)
		if p.workspace.slice, err = p.workspace.slices.Read(ctx, slice); err == nil {
			objects, err = w.count(ctx, p, r, (*endpoint).ask)
		}
	}
	if err != nil {
		return errors.Wrap(err, messageUnknown)
	}
	if len(objects) > 0 {
		return errors.Wrapf(errConsumersLeft, "APIExport %q still offers %s, and consumers have %s",
			p.workspace.plan.export, r, enumerate(objects))
	}
	return nil
}

// count returns how many objects of a resource there are, by the names of the workspaces of consumers, as endpoints
// list both. Without a consumer kcp has no endpoint.
func (w *withdrawal) count(ctx context.Context, p *pass, r schema.GroupResource,
	list func(*endpoint, context.Context, schema.GroupVersionResource) ([]*unstructured.Unstructured, error),
) (map[string]int, error) {
	if p.workspace.slice == nil {
		return nil, errors.Errorf("APIExportEndpointSlice %q does not exist: create it, or set deletionPolicy: Orphan",
			p.workspace.plan.slice)
	}
	endpoints, objects := w.consumers.connect(ctx, p), map[string]int{}
	if len(endpoints) == 0 {
		return objects, nil
	}
	kind, err := storedKind(ctx, p.workspace, r)
	if err != nil {
		return nil, err
	}
	for i := range endpoints {
		bindings, err := list(&endpoints[i], ctx, kcp.Bindings)
		if err != nil {
			return nil, err
		}
		all, err := list(&endpoints[i], ctx, kind)
		if err != nil {
			return nil, err
		}
		names := map[string]string{}
		for _, b := range bindings {
			cluster := b.GetAnnotations()[kcp.AnnotationCluster]
			names[cluster] = cmp.Or(b.GetAnnotations()[kcp.AnnotationPath], cluster)
		}
		for _, u := range all {
			if name, bound := names[u.GetAnnotations()[kcp.AnnotationCluster]]; bound {
				objects[name]++
			}
		}
	}
	return objects, nil
}

// withdraw takes the resource of the PublishedResource from the APIExport, and the claims that nobody else needs.
func (w *withdrawal) withdraw(ctx context.Context, p *pass) error {
	r, _ := kcp.ResourceOf(p.resource.Status.ResourceSchemaName)
	export, err := w.publisher.writer.Write(ctx, p.workspace.exportClient(), func(d *kcp.Draft) error {
		d.RemoveResource(r)
		for _, c := range d.Claims() {
			if !w.publisher.siblingsNeed(ctx, p, d, c) {
				d.RemoveClaim(c.GroupResource)
			}
		}
		return nil
	})
	if errors.Is(err, kcp.ErrNoExport) || apierrors.IsNotFound(err) {
		return subreconciler.ErrStop // There is nothing to withdraw from.
	}
	if err != nil {
		return err
	}
	p.workspace.export = export
	p.record(event.Normal(reasonWithdrawn, fmt.Sprintf("APIExport %s no longer offers %s", p.workspace.plan.export, r)))
	return nil
}

// enumerate says how many objects there are in which workspaces.
func enumerate(objects map[string]int) string {
	total, where := 0, make([]string, 0, len(objects))
	for name, n := range objects {
		total += n
		where = append(where, fmt.Sprintf("%d in %s", n, name))
	}
	slices.Sort(where)
	return fmt.Sprintf("%d: %s", total, managedadapter.Some(where, namedMost, ", "))
}

// storedKind returns an exported resource in the version in which its objects are stored.
func storedKind(ctx context.Context, w *workspace, r schema.GroupResource) (schema.GroupVersionResource, error) {
	name := w.schemaOf(r)
	s, err := w.readSchema(ctx, name)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	if s == nil {
		return schema.GroupVersionResource{}, errors.Errorf("APIResourceSchema %q does not exist", name)
	}
	return r.WithVersion(storedIn(s)), nil
}

// storedIn returns the version of a schema in which objects are stored. Each has one.
func storedIn(s *apisv1alpha1.APIResourceSchema) string {
	i := slices.IndexFunc(s.Spec.Versions, func(v apisv1alpha1.APIResourceVersion) bool { return v.Storage })
	return s.Spec.Versions[i].Name
}
