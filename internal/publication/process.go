package publication

import (
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

func (p *publication) process(item objectsync.Primary) {
	defer p.queue.Done(item)
	select {
	case <-p.quits:
		return
	default:
	}
	begun := time.Now()
	err := p.sync(item)
	early := watch.IsNotSynced(err)
	switch {
	case err == nil:
		p.queue.Forget(item)
	case early:
		p.queue.AddAfter(item, retryEarly)
	default:
		p.queue.AddRateLimited(item)
	}
	if !early && !apierrors.IsConflict(err) && !errors.Is(err, objectsync.ErrEnding) {
		p.report.note(item, p.nameOf(item.Cluster), err, time.Since(begun))
	}
}

// nameOf returns the path of a workspace or, if it is not known, the name of its logical cluster.
func (p *publication) nameOf(cluster string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path := p.workspaces[cluster]; path != "" {
		return path
	}
	return cluster
}

// whereIs returns the endpoint and path of a workspace, nil if no object of it has been seen.
func (p *publication) whereIs(cluster string) (e *endpoint, path string, bound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path, bound = p.workspaces[cluster]
	return p.clusters[cluster], path, bound
}

func (p *publication) clientOf(cluster string) (dynamic.Interface, error) {
	e, _, _ := p.whereIs(cluster)
	if e == nil {
		return nil, errors.Errorf("no endpoint shows logical cluster %q", cluster)
	}
	return e.client(cluster)
}

// errNoPath means that the path of a workspace is needed and not known yet.
var errNoPath = errors.New("the path of the workspace is not known yet")

// sync syncs one object.
func (p *publication) sync(item objectsync.Primary) error {
	e, path, bound := p.whereIs(item.Cluster)
	if e == nil {
		return nil
	}
	source := e.objects.Get(inCluster(item.Cluster, item.NamespacedName))
	if err := e.objects.Ready(); err != nil {
		return err
	}
	if source != nil && path == "" && p.config.Sync.Spec.EnableWorkspacePaths {
		return errNoPath
	}
	client, err := e.client(item.Cluster)
	if err != nil {
		return err
	}
	at := &pass{publication: p, looks: set[look]{}, streams: set[streamKey]{}}
	workspace := &side{pass: at, client: client, endpoint: e, cluster: item.Cluster}
	in := objectsync.Input{
		Workspace: objectsync.Workspace{Side: workspace.of(), Cluster: item.Cluster, Path: path},
		Service:   (&side{pass: at, client: p.config.Service.Dynamic()}).of(),
		Holders:   p.holders, Object: item.NamespacedName,
	}
	if source == nil {
		return p.lost(item, in, bound)
	}
	res, err := p.syncer.Sync(p.ctx, in)
	p.looks.set(item, at.looks)
	p.related.need(item, at.streams)
	p.holders.add(item, res.Related)
	if err == nil {
		p.holders.set(item, res.Related)
		p.learn(item) // What is not related any more may still have to go.
	}
	p.tells.tell(item, source, res.Events)
	return err
}

// lost gives up an object that is not there any more. A copy that is left of it is deleted, if the server confirms that the object is gone.
func (p *publication) lost(item objectsync.Primary, in objectsync.Input, bound bool) error {
	if bound && p.left(item) {
		_, err := in.Workspace.Writer.Live(p.ctx, p.syncer.RefOf(item))
		if !apierrors.IsNotFound(err) {
			return err // If it is there the stream will tell.
		}
		res, err := p.syncer.Release(p.ctx, in)
		if err != nil || res.Waiting != "" {
			return err
		}
	}
	p.looks.set(item, nil)
	p.related.need(item, nil)
	p.holders.set(item, nil)
	p.report.forget(item)
	p.tells.forget(item)
	return nil
}

// left says whether there is a copy or a state of an object.
func (p *publication) left(item objectsync.Primary) bool {
	if p.states.Get(p.syncer.StateOf(item)) != nil {
		return true
	}
	id := objectsync.Identity{NamespacedName: item.NamespacedName, Cluster: item.Cluster}
	for _, u := range p.copies.Keyed(id.Key()) {
		if isOf(u, p.config.Sync.Primary.Workspace) {
			return true
		}
	}
	return false
}

// isOf says whether a copy is of an object of a kind. One that does not tell its kind is not.
func isOf(u *unstructured.Unstructured, r objectsync.Resource) bool {
	return u.GetAnnotations()[objectsync.AnnotationKind] == r.GroupVersionResource.GroupVersion().WithKind(r.Kind).GroupKind().String()
}
