package publication

import (
	"context"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// errNoPath means that the path of a workspace is needed and not known yet.
var errNoPath = errors.New("the path of the workspace is not known yet")

// process syncs an object whose turn it is.
func (p *publication) process(item objectsync.Primary) {
	defer p.queue.Done(item)
	if p.working.Err() != nil {
		return
	}
	if w := p.whatOf(item.Cluster); !w.shown && !w.gone && p.endpointOf(item.Cluster) != nil {
		p.queue.AddAfter(item, boundAgain) // Nobody tells by now whether the workspace binds the API.
		return
	}
	p.update(item, func(o *object) { o.added = false })
	begun := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, passMax)
	defer cancel()
	synced, err := p.sync(ctx, item)
	if later := (laterError{}); errors.As(err, &later) {
		p.queue.AddAfter(item, later.after)
		return
	}
	p.settle(item, err)
	p.noteRefusal(item, err)
	switch {
	case isEarly(err), apierrors.IsConflict(err), errors.Is(err, objectsync.ErrEnding):
	case err == nil && !synced:
		p.unnote(item)
	default:
		p.note(item, err, time.Since(begun))
	}
}

// sync syncs one object, and reports whether it is one that has a copy.
func (p *publication) sync(ctx context.Context, item objectsync.Primary) (synced bool, err error) {
	defer recoverPanic(&err)
	at := &pass{publication: p, ctx: ctx, item: item, needs: set[need]{}}
	in, source, err := p.input(at)
	switch {
	case err != nil:
		return false, err
	case p.config.RemoveFinalizers:
		return false, p.removeFinalizers(ctx, at, in, source != nil)
	case source == nil:
		return false, p.lost(ctx, item, in)
	}
	return p.syncSource(ctx, at, in, source)
}

// input returns what is needed for a sync of an object, and the object, nil if it is not there.
func (p *publication) input(at *pass) (in objectsync.Input, source *unstructured.Unstructured, err error) {
	item := at.item
	e, w := p.endpointOf(item.Cluster), p.whatOf(item.Cluster)
	p.mu.Lock()
	restored := p.restored
	p.mu.Unlock()
	in = objectsync.Input{
		Undone:    restored,
		MayLook:   at.mayLook,
		MayUse:    at.mayUse,
		Workspace: objectsync.Workspace{Side: emptySide, Cluster: item.Cluster, Path: w.Path},
		Service:   (&side{pass: at, client: p.config.Service.Dynamic()}).of(),
		Holders:   p.holders, Object: item.NamespacedName,
	}
	if e == nil || !w.shown {
		return in, nil, nil
	}
	source = e.objects.Get(inCluster(item.Cluster, item.NamespacedName))
	if err := e.objects.Ready(); err != nil {
		return in, nil, err
	}
	if source != nil && source.GetDeletionTimestamp() == nil && w.Path == "" && p.config.Sync.Spec.EnableWorkspacePaths {
		return in, nil, errNoPath
	}
	if at.workspace, err = e.cluster.In(item.Cluster); err != nil {
		return in, nil, err
	}
	in.Workspace.Side = (&side{pass: at, client: at.workspace, endpoint: e, cluster: item.Cluster}).of()
	in.Workspace.ShowsAll = at.showsAll
	return in, source, nil
}

// syncSource syncs an object that is there.
func (p *publication) syncSource(
	ctx context.Context, at *pass, in objectsync.Input, source *unstructured.Unstructured,
) (synced bool, err error) {
	item := at.item
	p.update(item, func(o *object) { o.suspect = false })
	p.noteOrphan(item, false)
	leaves, err := p.leaves(ctx, at.workspace, item, source)
	if err != nil {
		return false, err
	}
	if leaves {
		_, err := p.syncer.Abandon(ctx, in)
		p.setNeeds(item, at.needs)
		return false, err
	}
	res, err := p.syncer.Sync(ctx, in)
	p.setNeeds(item, at.needs)
	if err == nil { // What is not related any more may still have to go.
		p.holders.set(item, append(res.Related, p.syncer.Held(item, p.stateOf(item))...))
		p.setUse(item, at.used)
	} else {
		p.holders.add(item, res.Related)
	}
	p.tell(at, source, res.Events)
	p.noteCopyFound(item, res.Copy.Namespace)
	if err == nil && res.Waiting == "" {
		err = p.noteCopyNamespace(ctx, item, res.Copy.Namespace)
	}
	return res.Copy.Name != "", err
}

// tell has events about an object written in its workspace, if that takes any. A Warning that repeats the last one is
// told once, unless it was dropped.
func (p *publication) tell(at *pass, source *unstructured.Unstructured, all []objectsync.Event) {
	takes, was, warning := at.workspace, objectsync.Event{}, objectsync.Event{}
	if len(all) > 0 && p.hides(at.item.Cluster, events.Resource) {
		takes = nil
	}
	p.update(at.item, func(o *object) { was = o.warned })
	for _, e := range all {
		switch {
		case was.Type == e.Type && was.Reason == e.Reason && managedadapter.SameText(was.Message, e.Message):
			warning = was
		case p.events.record(at.item.Cluster, takes, source, e) && e.Type == corev1.EventTypeWarning:
			warning = e
		}
	}
	p.update(at.item, func(o *object) { o.warned = warning })
}

// learn reads from its state which related objects an object holds.
func (p *publication) learn(item objectsync.Primary) {
	p.holders.add(item, p.syncer.Held(item, p.stateOf(item)))
}

// stateOf returns the state of an object, nil if there is none.
func (p *publication) stateOf(item objectsync.Primary) *unstructured.Unstructured {
	id := objectsync.Identity{NamespacedName: item.NamespacedName, Cluster: item.Cluster}
	return p.syncer.ChooseState(item, p.states.Get(p.syncer.StateOf(item)), p.states.Keyed(id.Key()))
}
