package publication

import (
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// unseenFor is how long an object has to be unseen before its copy is an orphan. A workspace that moves to another
// shard is shown again by then.
const unseenFor = 30 * time.Second

// errUnknown means that nobody tells by now whether an object is there. It is looked for again, and is no failure.
var errUnknown = errors.New("it is not known whether the object exists")

// lost decides on what is left of an object that is not shown.
func (p *pass) lost() error {
	w := p.worker
	copied, left, err := p.left()
	if err != nil {
		return err
	}
	if left {
		if err := p.giveUp(copied); err != nil {
			return err
		}
		if copied, left, err = p.left(); err != nil {
			return err
		}
	}
	if !left && !p.home.shown && !w.isUnseen(p.item) {
		return errUnknown
	}
	if p.gone = !left; p.gone {
		return nil
	}
	w.needs.set(p.item, p.needs)
	w.objects.noteOrphan(p.item, w.isOrphan(copied))
	return nil
}

// giveUp deletes the copy of an object that was seen in deletion, and what belongs to a copy that an operator has
// deleted. Every other copy is kept as an orphan. Nothing is done before the object is known to be unseen.
func (p *pass) giveUp(copied *unstructured.Unstructured) error {
	w, o := p.worker, p.worker.objects.get(p.item)
	switch {
	case copied != nil && objectsync.IsOrphaned(copied) && !o.deleted:
		return nil
	case !w.isUnseen(p.item):
		o.unseenSince = time.Time{}
	case o.unseenSince.IsZero():
		o.unseenSince = time.Now()
	}
	p.update(func(is *object) { is.unseenSince = o.unseenSince })
	switch {
	case o.unseenSince.IsZero() || !o.deleted && time.Since(o.unseenSince) < unseenFor:
		return errUnknown
	case o.deleted || copied == nil:
		return w.syncer.Release(p.ctx, p.input)
	}
	return w.syncer.Abandon(p.ctx, p.input)
}

// isShown reports whether an endpoint shows an object and a binding of its workspace.
func (w *syncWorker) isShown(item objectsync.Primary) bool {
	home := w.workspaces.get(item.Cluster)
	e := w.streams.endpoint(home.Endpoint)
	return home.shown && e != nil && e.objects.Get(inCluster(item.Cluster, item.NamespacedName)) != nil
}

// isUnseen reports whether all endpoints that kcp names show what they have, and none shows an object.
func (w *syncWorker) isUnseen(item objectsync.Primary) bool {
	endpoints, told := w.workspaces.endpoints()
	for _, is := range endpoints {
		e := w.streams.endpoint(is.URL)
		told = told && is.Listed && e != nil && e.objects.Ready() == nil
	}
	return told && !w.isShown(item)
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

// isOrphan reports whether a copy, nil for none, is an orphan of our kind: others may have copies of the same kind.
func (w *syncWorker) isOrphan(copied *unstructured.Unstructured) bool {
	return copied != nil && objectsync.IsOrphaned(copied) && isOf(copied, w.config.Sync.Primary.Workspace)
}

// emptySide is the side of a workspace that is not shown: nothing is known there, and nothing is written.
var emptySide = objectsync.Side{Cache: func(schema.GroupVersionResource) objectsync.Cache { return reader{} }}
