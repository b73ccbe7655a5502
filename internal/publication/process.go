package publication

import (
	"cmp"
	"context"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

func (p *publication) process(item objectsync.Primary) {
	defer p.queue.Done(item)
	select {
	case <-p.quits:
		return
	default:
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, passMax)
	defer cancel()
	synced := false
	err := recoverPanic(func() (err error) {
		synced, err = p.sync(ctx, item)
		return err
	})
	if errors.Is(err, errAwaitsLook) {
		return
	}
	if err == nil {
		p.queue.Forget(item)
	} else {
		p.queue.Retry(item, err)
	}
	p.noteRefusal(item, err)
	switch {
	case isEarly(err), apierrors.IsConflict(err), errors.Is(err, objectsync.ErrEnding):
	case err == nil && !synced:
		p.report.forget(item)
	default:
		p.report.note(item, p.nameOf(item.Cluster), err, time.Since(begun))
	}
}

// nameOf returns the path of a workspace or, if it is not known, the name of its logical cluster.
func (p *publication) nameOf(cluster string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.workspaceIndex.paths[cluster], cluster)
}

// whereIs returns the endpoint and path of a workspace. The endpoint is nil if none shows it.
func (p *publication) whereIs(cluster string) (e *endpoint, path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endpoints[p.workspaceIndex.homes[cluster]], p.workspaceIndex.paths[cluster]
}

func (p *publication) clientOf(cluster string) (dynamic.Interface, error) {
	e, _ := p.whereIs(cluster)
	if e == nil {
		return nil, errors.Errorf("no endpoint shows logical cluster %q", cluster)
	}
	return e.client(cluster)
}

// errNoPath means that the path of a workspace is needed and not known yet.
var errNoPath = errors.New("the path of the workspace is not known yet")

// input returns what is needed for a sync of an object, and the object, nil if it is not there.
func (p *publication) input(at *pass,
	item objectsync.Primary,
) (in objectsync.Input, source *unstructured.Unstructured, err error) {
	e, path := p.whereIs(item.Cluster)
	p.mu.Lock()
	restored := p.restored
	p.mu.Unlock()
	in = objectsync.Input{
		Undone:    restored,
		MayLook:   at.mayLook,
		Workspace: objectsync.Workspace{Side: emptySide, Cluster: item.Cluster, Path: path},
		Service:   (&side{pass: at, client: p.config.Service.Dynamic()}).of(),
		Holders:   p.holders, Object: item.NamespacedName,
	}
	if e == nil {
		return in, nil, nil
	}
	source = e.objects.Get(inCluster(item.Cluster, item.NamespacedName))
	if err := e.objects.Ready(); err != nil {
		return in, nil, err
	}
	if source != nil && source.GetDeletionTimestamp() == nil && path == "" && p.config.Sync.Spec.EnableWorkspacePaths {
		return in, nil, errNoPath
	}
	client, err := e.client(item.Cluster)
	if err != nil {
		return in, nil, err
	}
	at.workspace = client
	in.Workspace.Side = (&side{pass: at, client: client, endpoint: e, cluster: item.Cluster}).of()
	return in, source, nil
}

// sync syncs one object, and reports whether it is one that has a copy.
func (p *publication) sync(ctx context.Context, item objectsync.Primary) (synced bool, err error) {
	at := &pass{
		publication: p, item: item, looks: set[watchedObject]{}, streams: set[streamKey]{}, namespaces: set[string]{},
	}
	in, source, err := p.input(at, item)
	if err != nil {
		return false, err
	}
	if p.config.RemoveFinalizers {
		return false, p.removeFinalizers(ctx, at, in)
	}
	if source == nil {
		return false, p.lost(ctx, item, in)
	}
	p.clear(item)
	leaves, err := p.leaves(ctx, at, source)
	if err != nil {
		return false, err
	}
	if leaves {
		_, err := p.syncer.Abandon(ctx, in)
		p.noteLooks(at)
		return false, err
	}
	res, err := p.syncer.Sync(ctx, in)
	p.noteLooks(at)
	p.holders.add(item, res.Related)
	if err == nil {
		p.holders.set(item, res.Related)
		p.learn(item) // What is not related any more may still have to go.
	}
	p.events.record(item, source, res.Events)
	p.noteCopyFound(item, res.Copy.Namespace)
	if err == nil && res.Waiting == "" {
		err = p.noteCopyNamespace(ctx, item, res.Copy.Namespace)
	}
	return res.Copy.Name != "", err
}

// noteLooks makes what a pass has looked at all that its object needs.
func (p *publication) noteLooks(at *pass) {
	p.watched.set(at.item, at.looks)
	p.related.need(at.item, at.streams)
	p.keepNamespaces(at.item, at.namespaces)
}

// keepNamespaces makes namespaces all that are looked at for an object beside that of its copy. Objects that there was
// no room for are tried again.
func (p *publication) keepNamespaces(item objectsync.Primary, all set[string]) {
	for _, waiting := range p.namespaces.keep(item, all) {
		p.queue.Forget(waiting)
		p.queue.Add(waiting)
	}
}

// lost gives up an object that is not there any more. A copy that is left of it is deleted if the server confirms that
// the object is gone, or that the workspace is with which it goes; it stays if the workspace has left it behind.
func (p *publication) lost(ctx context.Context, item objectsync.Primary, in objectsync.Input) error {
	bound, gone := p.standing(item.Cluster)
	if gone {
		in.Workspace.Side = emptySide // Endpoints answer for it as for what is not allowed.
	}
	copied, left, err := p.left(item)
	if err != nil {
		return err
	}
	orphaned := false
	if copied != nil {
		orphaned = objectsync.IsOrphaned(copied)
		p.noteCopyFound(item, copied.GetNamespace())
	}
	switch {
	case !left, orphaned && (!gone || !p.deletesLeft()):
	case p.isSuspect(item):
		if done, err := p.leaveUndone(ctx, item, in); err != nil || !done {
			return err
		}
	case gone && !p.deletesLeft():
		if err := p.confirmLeft(ctx, item.Cluster); err != nil {
			return err
		}
		if _, err := p.syncer.Abandon(ctx, in); err != nil {
			return err
		}
	case gone, bound:
		if done, err := p.releaseLost(ctx, item, in); err != nil || !done {
			return err
		}
	}
	p.watched.set(item, nil)
	p.related.need(item, nil)
	p.keepNamespaces(item, nil)
	if !left {
		p.holders.set(item, nil)
	}
	p.report.forget(item)
	p.events.forget(item)
	p.vainPatches.note(item, statusPatch{}, false)
	if !bound {
		p.forgetWorkspacesSoon()
	}
	return p.noteCopyNamespace(ctx, item, "")
}

// confirm asks the server whether an object is not there any more. Without an endpoint of the workspace that is not
// known.
func (p *publication) confirm(ctx context.Context, item objectsync.Primary,
	in objectsync.Input,
) (missing bool, err error) {
	if in.Workspace.Writer == nil {
		return false, nil
	}
	_, err = in.Workspace.Writer.Live(ctx, p.syncer.RefOf(item))
	if isMissing(err, item.Name) {
		return true, nil
	}
	return false, err // If it is there the stream will tell.
}

// standing reports whether a workspace has bound the API, and whether it is known to be gone.
func (p *publication) standing(cluster string) (bound, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workspaceIndex.bound(cluster), p.workspaceIndex.gone(cluster)
}

// hides reports whether a workspace has not accepted the permission claim for a resource.
func (p *publication) hides(cluster string, r schema.GroupResource) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workspaceIndex.lacksClaim(cluster, r.String())
}

// releaseLost deletes the copy of an object that is not there any more, and reports whether it is gone.
func (p *publication) releaseLost(ctx context.Context, item objectsync.Primary,
	in objectsync.Input,
) (done bool, err error) {
	if _, gone := p.standing(item.Cluster); gone {
		if err := p.confirmLeft(ctx, item.Cluster); err != nil {
			return false, err
		}
	} else if missing, err := p.confirm(ctx, item, in); err != nil || !missing {
		return false, err
	}
	res, err := p.syncer.Release(ctx, in)
	if err != nil || res.Waiting != "" {
		return false, err
	}
	p.holders.set(item, nil)
	return true, nil
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

// isOf reports whether a copy is of an object of a kind. One that does not tell its kind is not.
func isOf(u *unstructured.Unstructured, r objectsync.Resource) bool {
	kind := r.GroupVersionResource.GroupVersion().WithKind(r.Kind).GroupKind()
	return u.GetAnnotations()[objectsync.AnnotationKind] == kind.String()
}
