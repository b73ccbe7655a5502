package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// observeDeleted reports whether there is something left to withdraw. It goes by what the PublishedResource has last
// published: what the source is by now does not matter. Claims go in one write with what is published. Those that are
// there afterwards are another publisher's, of which this control plane may know nothing: to withdraw them again and
// again would never end.
func (e *external) observeDeleted(ctx context.Context, o *v1alpha1.PublishedResource) (bool, error) {
	if err := e.look(ctx); err != nil {
		if errors.Is(err, kcp.ErrNoExport) {
			return false, nil
		}
		return false, err
	}
	if e.state.export == nil {
		return false, nil
	}
	if err := e.serveLast(ctx, o); err != nil {
		return false, err
	}
	_, ours, err := e.offered(ctx, o)
	return ours, err
}

// withdrawal returns the Change by which an APIExport loses a resource of the PublishedResource, and the claims that
// nobody else needs.
func (e *external) withdrawal(ctx context.Context, o *v1alpha1.PublishedResource, r schema.GroupResource) kcp.Change {
	return func(d *kcp.Draft) error {
		if err := d.RemoveResource(r); err != nil {
			return err
		}
		for _, c := range d.Claims() {
			if !e.keptBySiblings(ctx, o, d, c) {
				if err := d.RemoveClaim(c.GroupResource); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// offered returns the resource that the APIExport offers for the PublishedResource, and whether it does: by the schema
// that is recorded, or by one of the same owner if the PublishedResource was interrupted before it could record that.
func (e *external) offered(ctx context.Context, o *v1alpha1.PublishedResource) (schema.GroupResource, bool, error) {
	r, ok := kcp.ResourceOf(o.Status.ResourceSchemaName)
	name := e.state.schemaOf(r)
	if !ok || name == "" || name == o.Status.ResourceSchemaName {
		return r, ok && name != "", nil
	}
	s, err := e.readSchema(ctx, name)
	return r, s != nil && s.Labels[v1alpha1.LabelKeyAgentName] == e.plan.agent, err
}

// Delete withdraws the API from the APIExport once consumers have no objects of it.
func (e *external) Delete(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, e.pass.fail(e.withdraw(ctx, o))
}

func (e *external) withdraw(ctx context.Context, o *v1alpha1.PublishedResource) error {
	r, ours, err := e.offered(ctx, o)
	if err != nil || !ours {
		return err
	}
	if err := e.awaitConsumers(ctx, r); err != nil {
		return err
	}
	change := e.withdrawal(ctx, o, r)
	e.state.export, err = e.writer.Write(ctx, e.exportPlace(), change)
	if errors.Is(err, kcp.ErrNoExport) || apierrors.IsNotFound(err) {
		return nil // There is nothing to withdraw from.
	}
	if err != nil {
		return err
	}
	e.events.Event(o, event.Normal(reasonWithdrawn, fmt.Sprintf("APIExport %s offers %s no more", e.plan.export, r)))
	if o.Spec.UnusedSchemas != xpv2.DeletionDelete {
		return nil
	}
	// Another APIExport may offer the API by the same schema.
	if exported, err := e.exported(ctx); err != nil || exported.Has(o.Status.ResourceSchemaName) {
		return err
	}
	return e.deleteSchema(ctx, o, o.Status.ResourceSchemaName)
}

// awaitConsumers returns an error that says how many objects consumers have, and where, as long as they have any. The
// PublishedResource is woken when one goes.
func (e *external) awaitConsumers(ctx context.Context, r schema.GroupResource) error {
	if err := e.checkSlice(); err != nil {
		return err
	}
	v := e.view(ctx)
	if len(v.endpoints) == 0 {
		return e.confirmNone(ctx, r)
	}
	kind, err := e.storedKind(ctx, r)
	if err != nil {
		return err
	}
	objects := map[string]int{}
	for _, url := range v.endpoints {
		list, err := e.listAt(ctx, url, purposeObjects, kind)
		if err != nil {
			return cannotTell(err)
		}
		for _, u := range list {
			if cluster := u.GetAnnotations()[kcp.AnnotationCluster]; v.homes[cluster] != "" {
				objects[cluster]++
			}
		}
	}
	if len(objects) == 0 {
		return e.confirmNone(ctx, r)
	}
	return errors.Wrapf(errConsumersLeft, "APIExport %q still offers %s, of which there are %s", e.plan.export, r,
		enumerate(objects, v.bindings))
}

func (e *external) checkSlice() error {
	if e.state.slice != nil {
		return nil
	}
	return cannotTell(errors.Errorf("APIExportEndpointSlice %q does not exist: make it, or set deletionPolicy: Orphan",
		e.plan.slice))
}

// confirmNone asks kcp for objects where watches show none: these may lag behind, and what is created meanwhile could
// not be reached any more. The PublishedResource is woken when the watch shows it.
func (e *external) confirmNone(ctx context.Context, r schema.GroupResource) error {
	var err error
	if e.state.slice, err = e.slices.Read(ctx, e.sliceInterest()); err != nil {
		return cannotTell(err)
	}
	if err := e.checkSlice(); err != nil {
		return err
	}
	endpoints := kcp.Endpoints(e.state.slice)
	e.keepEndpoints(endpoints)
	if len(endpoints) == 0 {
		return nil // Without a consumer kcp has no endpoint.
	}
	kind, err := e.storedKind(ctx, r)
	if err != nil {
		return err
	}
	for _, url := range endpoints {
		objects, err := e.ask(ctx, url, kind)
		if err != nil {
			return cannotTell(err)
		}
		bound, err := e.ask(ctx, url, kcp.Bindings)
		if err != nil {
			return cannotTell(err)
		}
		if objects.HasAny(bound.UnsortedList()...) {
			return errors.Wrapf(errConsumersLeft,
				"APIExport %q still offers %s, and consumers have objects that the watch does not show yet", e.plan.export, r)
		}
	}
	return nil
}

// ask asks an endpoint which logical clusters have a resource of a kind.
func (e *external) ask(ctx context.Context, url string, kind schema.GroupVersionResource) (sets.Set[string], error) {
	cluster, _, err := e.endpoint(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := cluster.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := cluster.Resource(kind, "").List(ctx, metav1.ListOptions{})
	clusters := sets.New[string]()
	for i := 0; err == nil && i < len(list.Items); i++ {
		clusters.Insert(list.Items[i].GetAnnotations()[kcp.AnnotationCluster])
	}
	return clusters, err
}

func cannotTell(err error) error {
	return errors.Wrap(err, "cannot tell whether consumers have objects left, which deletionPolicy: Orphan does not await")
}

// enumerate says how many objects, by logical cluster, there are in which workspaces, whose paths bindings tell.
func enumerate(objects map[string]int, bindings []*unstructured.Unstructured) string {
	paths := map[string]string{}
	for _, b := range bindings {
		paths[b.GetAnnotations()[kcp.AnnotationCluster]] = b.GetAnnotations()[kcp.AnnotationPath]
	}
	total, where := 0, make([]string, 0, len(objects))
	for cluster, n := range objects {
		total += n
		where = append(where, fmt.Sprintf("%d in %s", n, cmp.Or(paths[cluster], cluster)))
	}
	slices.Sort(where)
	if more := len(where) - namedMost; more > 0 {
		where = append(where[:namedMost], fmt.Sprintf("and more in %d other workspaces", more))
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(where, ", "))
}

// storedKind returns an exported resource in the version in which its objects are stored.
func (e *external) storedKind(ctx context.Context, r schema.GroupResource) (schema.GroupVersionResource, error) {
	name := e.state.schemaOf(r)
	s, err := e.readSchema(ctx, name)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	if s != nil {
		for _, v := range s.Spec.Versions {
			if v.Storage {
				return r.WithVersion(v.Name), nil
			}
		}
	}
	return schema.GroupVersionResource{}, cannotTell(errors.Errorf("APIResourceSchema %q does not exist", name))
}

// deleteSchema deletes a schema that is not used any more.
func (e *external) deleteSchema(ctx context.Context, o *v1alpha1.PublishedResource, name string) error {
	err := e.cluster.Resource(kcp.Schemas, "").Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return errors.Wrapf(err, "cannot delete APIResourceSchema %q, which unusedSchemas: Orphan would keep", name)
	}
	e.events.Event(o, event.Normal(reasonSchemaDeleted, "Deleted APIResourceSchema "+name))
	return nil
}
