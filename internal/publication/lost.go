package publication

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
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

// versions are where a patch has the version of an object, which differs each time.
var versions = regexp.MustCompile(`"resourceVersion":"[^"]*"`)

// hashOf returns what tells a write from others.
func hashOf(write ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, write...) // A hash takes all.
	return h.Sum64()
}

// mayWrite fails if it is too early for a write that others have undone: the last pass that has written anything has
// written the same.
func (p *pass) mayWrite(s *side, r schema.GroupVersionResource, write uint64) error {
	x := p.worker.objects
	if !slices.Contains(x.get(p.item).wrote, write) {
		return nil
	}
	by := fighter(p.item)
	if p.waits == nil {
		p.waits = new(x.fights.Wait(by)) // Once in a pass: what is undone together is repeated together.
	}
	if x.fights.Fights(by) > 0 {
		p.contested = objectsync.NewContestedRefusal(s.endpoint != nil, r.GroupResource())
	}
	if *p.waits > 0 {
		p.wrote = append(p.wrote, write)
		return p.contested
	}
	return nil
}

// settleFight records what has been written, and has an object that others have changed too often synced again when it
// is its turn.
func (p *pass) settleFight() {
	if len(p.wrote) > 0 {
		p.update(func(o *object) { o.wrote = p.wrote })
	}
	if p.waits != nil && *p.waits > 0 {
		p.worker.objects.queue.AddAfter(p.item, *p.waits)
	}
}
