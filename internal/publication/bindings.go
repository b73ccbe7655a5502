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

const (
	// bindingsEvery is how long after a look at the bindings of a workspace the next one begins, however many of its
	// objects are deleted.
	bindingsEvery = 500 * time.Millisecond
	// boundAgain is how long the answer holds that a workspace is still bound.
	boundAgain = 10 * time.Second
)

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

// A laterError means that an object comes again after a while, and is no failure.
type laterError struct{ after time.Duration }

// Error says so.
func (laterError) Error() string { return "waiting for a look at the APIBindings of the workspace" }

// A bindingReader looks at the bindings that a workspace shows, or an endpoint of all workspaces. One look serves for
// all objects that were deleted before it, and for all workspaces that left before it. Its methods may be called
// concurrently.
type bindingReader struct {
	mu   sync.Mutex // held while somebody asks
	last bindingLook
}

// A bindingLook is what one look has found.
type bindingLook struct {
	begun  time.Time
	as     string      // the resource version of the answer, empty without an answer
	leaves bool        // The workspace gives up its binding.
	bound  set[string] // logical clusters that have a binding, of an endpoint
}

// ask makes the answer to a question the last look. If it fails it tells nothing, and has begun all the same. The
// caller holds the lock.
func (r *bindingReader) ask(question func(*bindingLook) error) error {
	is := bindingLook{begun: time.Now()}
	r.last = is
	if err := question(&is); err != nil {
		return errors.Wrap(err, "cannot tell whether the workspace still binds the API")
	}
	r.last = is
	return nil
}

// leaves reports whether an object is being deleted because its workspace no longer binds an API. kcp deletes the
// objects of a binding after the binding is being deleted, and those of a workspace after the workspace is, so that a
// look at both as of a later time than the deletion tells.
func (r *bindingReader) leaves(
	ctx context.Context, client dynamic.Interface, api schema.GroupResource, u *unstructured.Unstructured,
) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.tellsOf(u) {
		return r.last.leaves, nil
	}
	if left := time.Until(r.last.begun.Add(bindingsEvery)); left > 0 {
		return false, laterError{left}
	}
	if err := r.ask(func(l *bindingLook) error { return l.ofWorkspace(ctx, client, api) }); err != nil {
		return false, err
	}
	if !r.last.tellsOf(u) {
		return false, laterError{}
	}
	return r.last.leaves, nil
}

// tellsOf reports whether the answer is of a later time than an object.
func (l *bindingLook) tellsOf(u *unstructured.Unstructured) bool {
	order, err := resourceversion.CompareResourceVersion(u.GetResourceVersion(), l.as)
	return err == nil && order <= 0
}

// ofWorkspace asks a workspace whether it gives up its binding, or is being deleted itself.
func (l *bindingLook) ofWorkspace(ctx context.Context, client dynamic.Interface, api schema.GroupResource) error {
	list, consumers, err := readBindings(ctx, client, api)
	if err != nil {
		return err
	}
	l.as = list.GetResourceVersion()
	l.leaves = !isBound(consumers)
	// A binding stays until the objects are gone.
	if l.leaves && !slices.ContainsFunc(list.Items,
		func(b unstructured.Unstructured) bool { return b.GetDeletionTimestamp() != nil }) {
		return errNoBinding
	}
	if !l.leaves {
		l.leaves, err = isBeingDeleted(ctx, client, consumers)
	}
	return err
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
		return nil, nil, err
	}
	bindings := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		bindings[i] = &list.Items[i]
	}
	consumers, err := kcp.ConsumersOf(bindings, api, nil)
	return list, consumers, err
}

// confirmLeft fails unless an endpoint confirms that a workspace has no binding since a time. The watch of bindings
// alone is no reason to give up copies: it may show less than there is, as after a restart or a restore of kcp.
func (r *bindingReader) confirmLeft(
	ctx context.Context, client dynamic.ResourceInterface, cluster string, since time.Time,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, bound := r.last.bound[cluster]
	if !r.last.begun.After(since) || r.last.bound == nil || bound && time.Since(r.last.begun) >= boundAgain {
		if err := r.ask(func(l *bindingLook) error { return l.ofEndpoint(ctx, client) }); err != nil {
			return err
		}
		_, bound = r.last.bound[cluster]
	}
	if bound || !r.last.begun.After(since) {
		return errStillBound
	}
	return nil
}

// ofEndpoint asks an endpoint which logical clusters have a binding.
func (l *bindingLook) ofEndpoint(ctx context.Context, client dynamic.ResourceInterface) error {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errNoBindings
	}
	l.bound = set[string]{}
	for i := range list.Items {
		l.bound[list.Items[i].GetAnnotations()[kcp.AnnotationCluster]] = struct{}{}
	}
	return nil
}
