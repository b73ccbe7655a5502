package publication

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// lost gives up an object that is not there any more.
func (p *pass) lost() error {
	w := p.worker
	copied, left, err := p.left()
	if err != nil {
		return err
	}
	if left {
		decided, err := p.giveUp(copied)
		if err != nil || !decided {
			return err
		}
		if copied, left, err = p.left(); err != nil {
			return err
		}
	}
	if p.gone = !left; p.gone {
		return nil
	}
	w.needs.set(p.item, p.needs)
	w.objects.noteOrphan(p.item, w.isOrphan(copied))
	return nil
}

// giveUp decides on what is left of an object that is not there any more, and reports whether it could. A copy is
// deleted if the server confirms that the object is gone, or that the workspace is with which it goes. It stays if the
// workspace has left it behind, or if a restore of kcp may have undone the object, also before this process started: a
// consumer that makes the object again finds the copy. It stays, too, if nothing is known of the workspace.
func (p *pass) giveUp(copied *unstructured.Unstructured) (decided bool, err error) {
	w, undone := p.worker, copied != nil && p.worker.objects.mayBeUndone(p.item)
	orphaned := copied != nil && objectsync.IsOrphaned(copied)
	stays := p.home.gone && !w.deletesLeft()
	if orphaned && (stays || !p.home.gone) || !p.home.Bound && !p.home.gone && !undone {
		return true, nil
	}
	if p.home.gone {
		p.input.Workspace.Side = emptySide // Endpoints answer for it as for what is not allowed.
	}
	if confirmed, err := p.confirm(); err != nil || !confirmed {
		return false, err
	}
	if stays || undone || copied != nil && !p.home.Unbinds && w.objects.isNew(p.item) {
		if err := w.syncer.Abandon(p.ctx, p.input); err != nil {
			return false, err
		}
		return true, nil
	}
	res, err := w.syncer.Release(p.ctx, p.input)
	return err == nil && res.Waiting == "", err
}

// confirm asks the server whether an object is not there any more, or whether its workspace is gone. Without an
// endpoint of the workspace that is not known. A workspace that moves to another shard has neither objects nor bindings
// on the former one: so an object is missing only where the workspace shows its binding after that.
func (p *pass) confirm() (missing bool, err error) {
	if p.home.gone {
		if p.endpoint == nil {
			return false, errEndpointGone
		}
		err := p.endpoint.bindings.confirmLeft(
			p.ctx, p.endpoint.cluster.Resource(kcp.Bindings, ""), p.item.Cluster, p.home.left)
		return err == nil, err
	}
	if p.input.Workspace.Writer == nil {
		return false, nil
	}
	_, err = p.input.Workspace.Writer.Live(p.ctx, p.worker.syncer.RefOf(p.item))
	switch {
	case clusters.IsBareNotFound(err):
		return false, errNoBinding // So a virtual workspace answers for a workspace that has no binding any more.
	case !objectsync.IsMissing(err, p.item.Name):
		return false, err // If it is there the stream will tell.
	}
	_, consumers, err := readBindings(p.ctx, p.workspace, p.worker.config.Sync.Primary.Workspace.GroupResource())
	if err == nil && !isBound(consumers) {
		err = errNoBinding
	}
	return err == nil, err
}

// left returns the copy of an object, and reports whether that or a state of it is left. What is looked at for that is
// all that the object needs then. Without a state, a copy that does not tell its kind may be of an object of another.
func (p *pass) left() (copied *unstructured.Unstructured, left bool, err error) {
	p.needs = set[need]{}
	copied, state, err := p.worker.syncer.Left(p.input)
	return copied, state || copied != nil && isOf(copied, p.worker.config.Sync.Primary.Workspace), err
}

// isOf reports whether a copy is of an object of a kind. One that does not tell its kind is not.
func isOf(u *unstructured.Unstructured, r objectsync.Resource) bool {
	kind := r.GroupVersionResource.GroupVersion().WithKind(r.Kind).GroupKind()
	return u.GetAnnotations()[objectsync.AnnotationKind] == kind.String()
}

// isOrphan reports whether a copy of an object of our kind has been left behind: others may have copies of the same
// kind.
func (w *syncWorker) isOrphan(copied *unstructured.Unstructured) bool {
	return copied != nil && objectsync.IsOrphaned(copied) && isOf(copied, w.config.Sync.Primary.Workspace)
}

// deletesLeft reports whether copies go with their workspaces.
func (w *syncWorker) deletesLeft() bool {
	return w.config.Sync.Spec.UnboundWorkspaces == xpv2.DeletionDelete
}

// emptySide is the side of a workspace that is gone: it has nothing, and nothing is written there.
var emptySide = objectsync.Side{Cache: func(schema.GroupVersionResource) objectsync.Cache { return reader{} }}
