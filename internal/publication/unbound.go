package publication

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// deletesLeft reports whether copies go with their workspaces.
func (p *publication) deletesLeft() bool {
	return p.config.Sync.Spec.UnboundWorkspaces == xpv2.DeletionDelete
}

// leaves reports whether an object is being deleted because its workspace no longer binds the API, and its copy is to
// stay. kcp deletes the objects of a binding after the binding is being deleted, and those of a workspace that is
// deleted no sooner in practice, so that a look at the bindings as of a later time than the deletion tells. One look
// serves for all objects that were deleted before it. An error that is errAwaitsLook means that the object comes again.
func (p *publication) leaves(ctx context.Context, at *pass,
	source *unstructured.Unstructured,
) (leaves bool, err error) {
	item := at.item
	if source == nil || source.GetDeletionTimestamp() == nil || p.deletesLeft() {
		return false, nil
	}
	answer := p.bindings.ask(item, source.GetResourceVersion(), time.Now())
	switch {
	case answer.known:
		return answer.leaves, nil
	case answer.asks == nil:
		if answer.after > 0 {
			p.queue.AddAfter(item, answer.after)
		}
		return false, errAwaitsLook
	}
	as := ""
	defer func() { // Whatever happens, nobody waits for ever.
		for _, waiting := range p.bindings.tell(answer.asks, as, leaves) {
			p.queue.Add(waiting)
		}
	}()
	leaves, as, err = p.lookAtBindings(ctx, at)
	return leaves, err
}

// lookAtBindings asks a workspace whether it gives up its binding, and returns the resource version of the answer.
func (p *publication) lookAtBindings(ctx context.Context, at *pass) (leaves bool, as string, err error) {
	list, err := at.workspace.Resource(kcp.Bindings).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", errors.Wrap(err, "cannot tell whether the workspace still binds the API")
	}
	bindings := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		bindings[i] = &list.Items[i]
	}
	consumers, err := kcp.ConsumersOf(bindings, p.config.Sync.Primary.Workspace.GroupResource(), nil)
	if err != nil {
		return false, "", err
	}
	if !slices.ContainsFunc(consumers, func(c kcp.Consumer) bool { return c.Bound }) {
		if leaves, err = leaving(bindings); err != nil {
			return false, "", err
		}
	}
	return leaves, list.GetResourceVersion(), nil
}

// errNoBinding means that a workspace that shows an object shows no binding of its API.
var errNoBinding = errors.New("the workspace shows neither a binding of the API nor the end of one")

// leaving reports whether a workspace without a binding that is in use gives up one, which stays until the objects
// are gone.
func leaving(bindings []*unstructured.Unstructured) (bool, error) {
	if slices.ContainsFunc(bindings,
		func(b *unstructured.Unstructured) bool { return b.GetDeletionTimestamp() != nil }) {
		return true, nil
	}
	return false, errNoBinding
}

// noteOrphan records whether a copy of an object of our kind has been left behind: others may have copies of the same
// kind. Nil is a copy that is gone.
func (p *publication) noteOrphan(n types.NamespacedName, u *unstructured.Unstructured) {
	p.mu.Lock()
	_, was := p.orphans[n]
	is := u != nil && objectsync.IsOrphaned(u) && isOf(u, p.config.Sync.Primary.Workspace)
	if is {
		p.orphans[n] = u.GetLabels()[objectsync.LabelCluster]
	} else {
		delete(p.orphans, n)
	}
	p.mu.Unlock()
	if was != is {
		p.report.change()
	}
}

// countOrphans says how many copies have been left behind, and by whom.
func (p *publication) countOrphans() (total int64, of []v1alpha1.WorkspaceOrphans) {
	copies := map[string]int64{}
	p.mu.Lock()
	for _, cluster := range p.orphans {
		copies[cmp.Or(p.workspaceIndex.paths[cluster], cluster)]++
		total++
	}
	p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(copies)) {
		of = append(of, v1alpha1.WorkspaceOrphans{Workspace: name, Copies: copies[name]})
	}
	return total, of[:min(len(of), namedMost)]
}

// emptySide is the side of a workspace that is gone: it has nothing, and nothing is written there.
var emptySide = objectsync.Side{Cache: func(schema.GroupVersionResource) objectsync.Cache { return emptyCache{} }}

type emptyCache struct{}

// Get returns no object.
func (emptyCache) Get(types.NamespacedName) (*unstructured.Unstructured, error) {
	return nil, nil //nolint:nilnil // So is none told.
}

// Select returns no objects.
func (emptyCache) Select(string, labels.Selector) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

// Copies returns no objects.
func (emptyCache) Copies(string) ([]*unstructured.Unstructured, error) { return nil, nil }

// States returns no states.
func (emptyCache) States(string) ([]*unstructured.Unstructured, error) { return nil, nil }
