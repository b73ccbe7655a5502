package publication

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// seekLost has copies looked at whose objects are not there any more, or whose workspaces are known to be gone and not
// known to have left them behind.
func (p *publication) seekLost() {
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		if u == nil || objectsync.IsOrphaned(u) && !p.deletesLeft() {
			continue
		}
		if item, ok := sourceOf(u); ok && p.isLost(item) {
			p.add(item)
		}
	}
}

// sourceOf returns the object that a copy is of, and false if it does not tell, or is nil.
func sourceOf(u *unstructured.Unstructured) (objectsync.Primary, bool) {
	if u == nil {
		return objectsync.Primary{}, false
	}
	cluster, source, ok := objectsync.SourceOf(u)
	return objectsync.Primary{Cluster: cluster, NamespacedName: source}, ok
}

// isLost reports whether an object seems to have gone without a word. Of endpoints that do not show all they have,
// nothing is said.
func (p *publication) isLost(item objectsync.Primary) bool {
	w := p.whatOf(item.Cluster)
	if w.gone || !w.Bound {
		return w.gone
	}
	e := p.endpointOf(item.Cluster)
	return e != nil && e.objects.Ready() == nil &&
		e.objects.Get(inCluster(item.Cluster, item.NamespacedName)) == nil
}

// lost gives up an object that is not there any more.
func (p *publication) lost(ctx context.Context, item objectsync.Primary, in objectsync.Input) error {
	copied, left, err := p.left(item)
	if err != nil {
		return err
	}
	if copied != nil {
		p.noteCopyFound(item, copied.GetNamespace())
	}
	if left {
		decided, err := p.giveUp(ctx, item, in, copied != nil && objectsync.IsOrphaned(copied))
		if err != nil || !decided {
			return err
		}
		if copied, left, err = p.left(item); err != nil {
			return err
		}
	}
	if err := p.noteCopyNamespace(ctx, item, ""); err != nil {
		return err
	}
	p.unnote(item)
	if !left {
		p.forget(item)
		return nil
	}
	p.setNeeds(item, p.needsOfLeft(item, copied))
	p.noteOrphan(item, p.isOrphan(copied))
	return nil
}

// giveUp decides on what is left of an object that is not there any more, and reports whether it could. A copy is
// deleted if the server confirms that the object is gone, or that the workspace is with which it goes. It stays if the
// workspace has left it behind, or if a restore of kcp has undone the object: a consumer that makes the object again
// finds the copy. It stays, too, if nothing is known of the workspace.
func (p *publication) giveUp(
	ctx context.Context, item objectsync.Primary, in objectsync.Input, orphaned bool,
) (decided bool, err error) {
	w, suspect := p.whatOf(item.Cluster), false
	p.update(item, func(o *object) { suspect = o.suspect })
	stays := w.gone && !p.deletesLeft()
	if orphaned && (stays || !w.gone) || !w.Bound && !w.gone && !suspect {
		return true, nil
	}
	if w.gone {
		in.Workspace.Side = emptySide // Endpoints answer for it as for what is not allowed.
	}
	if confirmed, err := p.confirm(ctx, item, in, w.gone); err != nil || !confirmed {
		return false, err
	}
	if stays || suspect {
		if _, err := p.syncer.Abandon(ctx, in); err != nil {
			return false, err
		}
		p.update(item, func(o *object) { o.suspect = false })
		return true, nil
	}
	res, err := p.syncer.Release(ctx, in)
	return err == nil && res.Waiting == "", err
}

// confirm asks the server whether an object is not there any more, or whether its workspace is gone. Without an
// endpoint of the workspace that is not known.
func (p *publication) confirm(
	ctx context.Context, item objectsync.Primary, in objectsync.Input, gone bool,
) (missing bool, err error) {
	if gone {
		err := p.confirmLeft(ctx, item.Cluster)
		return err == nil, err
	}
	if in.Workspace.Writer == nil {
		return false, nil
	}
	_, err = in.Workspace.Writer.Live(ctx, p.syncer.RefOf(item))
	if isMissing(err, item.Name) {
		return true, nil
	}
	return false, err // If it is there the stream will tell.
}

// isMissing reports whether a server has answered that it has no object of a name. That it knows no such workspace, as
// a kcp does that has just started, tells nothing of the object.
func isMissing(err error, name string) bool {
	if target.IsBareNotFound(err) {
		return true // So a virtual workspace answers for a workspace that has no binding any more.
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d != nil && d.Name == name && d.Kind != "workspaces" && d.Kind != "logicalclusters"
}

// left returns the copy of an object, and reports whether that or a state of it is left. Without a state, a copy that
// does not tell its kind may be of an object of another.
func (p *publication) left(item objectsync.Primary) (copied *unstructured.Unstructured, left bool, err error) {
	id := objectsync.Identity{NamespacedName: item.NamespacedName, Cluster: item.Cluster}
	if copied, err = p.syncer.CopyOf(item, p.copies.Keyed(id.Key())); err != nil {
		return nil, false, err
	}
	known := copied != nil && isOf(copied, p.config.Sync.Primary.Workspace)
	return copied, known || p.syncer.Owns(p.stateOf(item)), nil
}

// needsOfLeft returns what an object needs of which a copy or a state is left: to be forgotten when that goes.
func (p *publication) needsOfLeft(item objectsync.Primary, copied *unstructured.Unstructured) set[need] {
	needs := set[need]{}
	if copied != nil {
		needs[lookAt(keyOf(copied), "", p.config.Sync.Primary.Service.GroupVersionResource)] = struct{}{}
	}
	if state := p.stateOf(item); state != nil {
		needs[lookAt(keyOf(state), "", objectsync.Secrets)] = struct{}{}
	}
	return needs
}

// isOf reports whether a copy is of an object of a kind. One that does not tell its kind is not.
func isOf(u *unstructured.Unstructured, r objectsync.Resource) bool {
	kind := r.GroupVersionResource.GroupVersion().WithKind(r.Kind).GroupKind()
	return u.GetAnnotations()[objectsync.AnnotationKind] == kind.String()
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
