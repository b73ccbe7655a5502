package publication

import (
	"context"
	"slices"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
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
	// errNoBinding means that a workspace that shows an object shows no binding of its API.
	errNoBinding = errors.New("kcp shows the object, and no APIBinding of its API in the workspace: nothing is synced " +
		"or deleted until it does. If the workspace has one, look at the log of its shard of kcp")
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

// A bindingLook is a look at the bindings of one workspace. It serves for all objects that were deleted before it.
type bindingLook struct {
	begun  time.Time
	as     string // the resource version of the answer, empty before the answer
	leaves bool   // The workspace gives up the binding.
}

// A departureLook is a look at all bindings of an endpoint. It serves for all workspaces that have left before it.
type departureLook struct {
	begun    time.Time
	clusters set[string] // that have one
}

// deletesLeft reports whether copies go with their workspaces.
func (p *publication) deletesLeft() bool {
	return p.config.Sync.Spec.UnboundWorkspaces == xpv2.DeletionDelete
}

// leaves reports whether an object is being deleted because its workspace no longer binds the API, and its copy is to
// stay. kcp deletes the objects of a binding after the binding is being deleted, and those of a workspace after the
// workspace is, so that a look at both as of a later time than the deletion tells.
func (p *publication) leaves(
	ctx context.Context, client dynamic.Interface, item objectsync.Primary, source *unstructured.Unstructured,
) (leaves bool, err error) {
	if source.GetDeletionTimestamp() == nil || p.deletesLeft() {
		return false, nil
	}
	last := p.whatOf(item.Cluster).look
	if last != nil {
		p.mu.Lock()
		known, leaves := last.tellsOf(source), last.leaves
		p.mu.Unlock()
		if known {
			return leaves, nil
		}
		if left := time.Until(last.begun.Add(bindingsEvery)); left > 0 {
			return false, laterError{left}
		}
	}
	_, err, _ = p.looks.Do(item.Cluster, func() (any, error) { return nil, p.lookAtBindings(ctx, client, item.Cluster) })
	if err != nil {
		return false, errors.Wrap(err, "cannot tell whether the workspace still binds the API")
	}
	return false, laterError{} // The answer is there.
}

// tellsOf reports whether the answer is of a later time than an object. The lock of the publication is held.
func (l *bindingLook) tellsOf(u *unstructured.Unstructured) bool {
	order, err := resourceversion.CompareResourceVersion(u.GetResourceVersion(), l.as)
	return err == nil && order <= 0
}

// lookAtBindings asks a workspace whether it gives up its binding, or is being deleted itself.
func (p *publication) lookAtBindings(ctx context.Context, client dynamic.Interface, cluster string) error {
	look := &bindingLook{begun: time.Now()}
	p.mu.Lock()
	if w := p.workspaces[cluster]; w != nil {
		w.look = look // If it is forgotten meanwhile, its answer is, too.
	}
	p.mu.Unlock()
	list, consumers, err := p.readBindings(ctx, client)
	if err != nil {
		return err
	}
	leaves := !slices.ContainsFunc(consumers, func(c kcp.Consumer) bool { return c.Bound })
	// A binding stays until the objects are gone.
	if leaves && !slices.ContainsFunc(list.Items,
		func(b unstructured.Unstructured) bool { return b.GetDeletionTimestamp() != nil }) {
		return errNoBinding
	}
	if !leaves {
		if leaves, err = isBeingDeleted(ctx, client, consumers); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	look.as, look.leaves = list.GetResourceVersion(), leaves
	return nil
}

// isBeingDeleted reports whether a workspace is being deleted, as far as it shows what tells. kcp deletes the namespace
// "default" with its workspace only: see package pkg/admission/namespacelifecycle of kcp 0.31.2.
func isBeingDeleted(ctx context.Context, client dynamic.Interface, consumers []kcp.Consumer) (bool, error) {
	for r, name := range map[schema.GroupVersionResource]string{
		kcp.LogicalClusters: kcp.LogicalCluster, objectsync.Namespaces: metav1.NamespaceDefault,
	} {
		shows := func(c kcp.Consumer) bool { return slices.Contains(c.Whole, r.GroupResource()) }
		if !slices.ContainsFunc(consumers, shows) {
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

// readBindings reads the bindings of a workspace, and what they say of it.
func (p *publication) readBindings(
	ctx context.Context, client dynamic.Interface,
) (*unstructured.UnstructuredList, []kcp.Consumer, error) {
	list, err := client.Resource(kcp.Bindings).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	bindings := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		bindings[i] = &list.Items[i]
	}
	consumers, err := kcp.ConsumersOf(bindings, p.config.Sync.Primary.Workspace.GroupResource(), nil)
	return list, consumers, err
}

// showsAll asks the workspace whether it shows all that it has of a resource. The watch of its bindings may be late.
func (p *pass) showsAll(ctx context.Context, r schema.GroupResource) (bool, error) {
	_, consumers, err := p.readBindings(ctx, p.workspace)
	return slices.ContainsFunc(consumers,
		func(c kcp.Consumer) bool { return c.Bound && slices.Contains(c.Whole, r) }), err
}

// confirmLeft fails unless the endpoint of a workspace confirms that the workspace does not bind the API any more. The
// watch of bindings alone is no reason to give up copies: it may show less than there is, as after a restart or a
// restore of kcp.
func (p *publication) confirmLeft(ctx context.Context, cluster string) error {
	e, since := p.endpointOf(cluster), p.whatOf(cluster).left
	if e == nil {
		return errEndpointGone
	}
	p.mu.Lock()
	look := e.look
	p.mu.Unlock()
	if !look.tellsOf(cluster, since) {
		answer, err, _ := p.looks.Do(e.url, func() (any, error) { return p.lookAtDepartures(ctx, e) })
		if err != nil {
			return errors.Wrap(err, "cannot tell whether the workspace still binds the API")
		}
		look, _ = answer.(*departureLook)
	}
	if _, bound := look.clusters[cluster]; bound || !look.begun.After(since) {
		return errStillBound
	}
	return nil
}

// tellsOf reports whether the answer serves for a workspace that has left.
func (l *departureLook) tellsOf(cluster string, since time.Time) bool {
	if l == nil || !l.begun.After(since) {
		return false
	}
	_, bound := l.clusters[cluster]
	return !bound || time.Since(l.begun) < boundAgain
}

// lookAtDepartures asks an endpoint which logical clusters have a binding.
func (p *publication) lookAtDepartures(ctx context.Context, e *endpoint) (*departureLook, error) {
	look := &departureLook{begun: time.Now(), clusters: set[string]{}}
	list, err := e.cluster.Resource(kcp.Bindings, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		look.clusters[list.Items[i].GetAnnotations()[kcp.AnnotationCluster]] = struct{}{}
	}
	if len(look.clusters) == 0 {
		return nil, errNoBindings
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.look = look
	return look, nil
}
