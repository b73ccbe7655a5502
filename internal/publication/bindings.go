package publication

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// boundAgain is how long the answer holds that a workspace is still bound.
const boundAgain = 10 * time.Second

var (
	// errNoBinding means that a workspace that has shown an object shows no binding of its API.
	errNoBinding = errors.New("kcp has shown the object, and shows no APIBinding of its API in the workspace: nothing " +
		"is synced or deleted until it does. If the workspace has one, look at the log of its shard of kcp")
	// errStillBound means that an endpoint shows the binding of a workspace that its watch shows no more.
	errStillBound = errors.New("the watch of APIBindings shows that the workspace has left, and a list that it has not: " +
		"its copies stay, and the endpoint is asked again. If this lasts, look at the log of its shard of kcp")
	// errNoBindings means that an endpoint shows no binding at all, as one that has just started.
	errNoBindings = errors.New("the endpoint of the workspace shows no APIBinding at all, as after a start of kcp: its " +
		"copies stay, and the endpoint is asked again. If this lasts, look at the log of its shard of kcp")
)

// leaves reports whether an object is being deleted because its workspace gives up its binding, or is being deleted
// itself. kcp deletes the objects of a binding after the binding is being deleted, and those of a workspace after the
// workspace is, so that a look at both as of a later time than the deletion tells.
func leaves(
	ctx context.Context, client dynamic.Interface, api schema.GroupResource, u *unstructured.Unstructured,
) (bool, error) {
	list, consumers, err := readBindings(ctx, client, api)
	if err != nil {
		return false, err
	}
	order, err := resourceversion.CompareResourceVersion(u.GetResourceVersion(), list.GetResourceVersion())
	if err != nil || order > 0 {
		return false, apierrors.NewConflict(api, u.GetName(), errors.New("the server shows bindings of before its deletion"))
	}
	if isBound(consumers) {
		return isBeingDeleted(ctx, client, consumers)
	}
	// A binding stays until the objects are gone.
	if !slices.ContainsFunc(list.Items,
		func(b unstructured.Unstructured) bool { return b.GetDeletionTimestamp() != nil }) {
		return false, errNoBinding
	}
	return true, nil
}

// isBound reports whether a workspace shows a binding by which it can use the API.
func isBound(consumers []kcp.Consumer) bool {
	return slices.ContainsFunc(consumers, func(c kcp.Consumer) bool { return c.Bound })
}

// isBeingDeleted reports whether a workspace is being deleted, as far as it shows what tells. kcp deletes the namespace
// "default" with its workspace only: see package pkg/admission/namespacelifecycle of kcp 0.31.2.
func isBeingDeleted(ctx context.Context, client dynamic.Interface, consumers []kcp.Consumer) (bool, error) {
	for r, name := range map[schema.GroupVersionResource]string{
		kcp.LogicalClusters: kcp.LogicalCluster, objectsync.Namespaces: metav1.NamespaceDefault,
	} {
		if !showWhole(consumers, r.GroupResource()) {
			continue
		}
		is, err := client.Resource(r).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err): // It shows less by now, or has no such namespace.
		case err != nil:
			return false, err
		case is.GetDeletionTimestamp() != nil:
			return true, nil
		}
	}
	return false, nil
}

// showWhole reports whether a workspace shows all that it has of a resource.
func showWhole(consumers []kcp.Consumer, r schema.GroupResource) bool {
	return slices.ContainsFunc(consumers, func(c kcp.Consumer) bool { return c.Bound && slices.Contains(c.Whole, r) })
}

// readBindings reads the bindings of a workspace, and what they say of it.
func readBindings(
	ctx context.Context, client dynamic.Interface, api schema.GroupResource,
) (*unstructured.UnstructuredList, []kcp.Consumer, error) {
	list, err := client.Resource(kcp.Bindings).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot read the APIBindings of the workspace")
	}
	bindings := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		bindings[i] = &list.Items[i]
	}
	consumers, err := kcp.ConsumersOf(bindings, api, nil)
	return list, consumers, err
}

// endpointBindings are what an endpoint was last asked for: which logical clusters have a binding. One answer serves
// for all workspaces that left before. Its methods may be called concurrently.
type endpointBindings struct {
	mu    sync.Mutex // held while somebody asks
	begun time.Time
	bound set[string] // nil without an answer
}

// confirmLeft fails unless an endpoint confirms that a workspace has no binding since a time. The watch of bindings
// alone is no reason to give up copies: it may show less than there is, as after a restart or a restore of kcp.
func (b *endpointBindings) confirmLeft(
	ctx context.Context, client dynamic.ResourceInterface, cluster string, since time.Time,
) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, bound := b.bound[cluster]
	if !b.begun.After(since) || b.bound == nil || bound && time.Since(b.begun) >= boundAgain {
		b.begun, b.bound = time.Now(), nil
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return errors.Wrap(err, "cannot tell whether the workspace still binds the API")
		}
		if len(list.Items) == 0 {
			return errNoBindings
		}
		b.bound = set[string]{}
		for i := range list.Items {
			b.bound[list.Items[i].GetAnnotations()[kcp.AnnotationCluster]] = struct{}{}
		}
		_, bound = b.bound[cluster]
	}
	if bound || !b.begun.After(since) {
		return errStillBound
	}
	return nil
}
