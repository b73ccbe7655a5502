package publication

import (
	"context"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A syncWorker syncs the objects of a publication, whose parts it uses. Its methods may be called concurrently.
type syncWorker struct {
	name       string // of the PublishedResource
	config     Config
	syncer     *objectsync.Syncer
	events     *eventRecorder
	workspaces *workspaceIndex
	objects    *objectIndex
	holders    *holders
	streams    *streams
	needs      *dependencies
	namespaces *namespaceCleaner // nil if none is deleted
}

// process syncs an object whose turn it is.
func (w *syncWorker) process(ctx context.Context, item objectsync.Primary) {
	p := w.newPass(ctx, item)
	if !p.home.shown && !p.home.absent && p.endpoint != nil {
		w.objects.queue.AddAfter(item, boundAgain) // Nobody tells by now whether the workspace binds the API.
		return
	}
	p.update(func(o *object) { o.added = false })
	begun := time.Now()
	synced, err := p.run()
	if later := (laterError{}); errors.As(err, &later) {
		w.objects.queue.AddAfter(item, later.after)
		return
	}
	w.objects.settle(item, err)
	switch {
	case isEarly(err), apierrors.IsConflict(err), errors.Is(err, objectsync.ErrEnding):
	case err == nil && !synced:
		w.objects.unnote(item)
	default:
		observe(w.name, err, time.Since(begun))
		w.objects.note(item, err)
	}
}

// stateChanged records what a state tells, and adds to the queue the objects that have read it. The object that has
// just written it is not one of them: its own write must not end its backoff.
func (w *syncWorker) stateChanged(n types.NamespacedName) {
	w.config.shared.note(n, w.streams.states.Get)
	u := w.streams.states.Get(n)
	for _, item := range w.needs.by(lookAt(n, "", objectsync.Secrets)) {
		if u == nil || w.objects.get(item).stateVersion != u.GetResourceVersion() {
			w.objects.queue.Add(item)
		}
	}
}

// copyChanged adds to the queue whose copy has changed.
func (w *syncWorker) copyChanged(n types.NamespacedName) {
	w.needs.wake(lookAt(n, "", w.config.Sync.Primary.Service.GroupVersionResource))
	if item, ok := sourceOf(w.streams.copies.Get(n)); ok {
		w.objects.add(item)
	}
}

// await waits until all streams are filled or refused, and reads from the states who holds which related objects. What
// has been left behind still holds its own.
func (w *syncWorker) await(ctx context.Context) {
	_ = w.streams.copies.Await(ctx) // Who looks at it is told of the error.
	_ = w.streams.states.Await(ctx)
	for _, n := range w.streams.states.Names() {
		w.config.shared.note(n, w.streams.states.Get)
	}
	learn := func(item objectsync.Primary) {
		w.holders.add(item, w.syncer.Held(item, w.streams.state(item)))
	}
	for _, e := range w.streams.allEndpoints() {
		_ = e.objects.Await(ctx)
		for _, item := range e.primaries() {
			learn(item)
		}
	}
	w.eachCopy(func(item objectsync.Primary, u *unstructured.Unstructured) {
		w.objects.noteOrphan(item, w.isOrphan(u))
		learn(item)
		w.objects.add(item)
	})
	w.workspaces.shrink()
}

// eachCopy does something with the copies that tell of which objects they are.
func (w *syncWorker) eachCopy(do func(objectsync.Primary, *unstructured.Unstructured)) {
	for _, n := range w.streams.copies.Names() {
		u := w.streams.copies.Get(n)
		if item, ok := sourceOf(u); ok {
			do(item, u)
		}
	}
}

// seekLost has copies looked at whose objects are not there any more, or whose workspaces are known to be gone and not
// known to have left them behind.
func (w *syncWorker) seekLost() {
	w.eachCopy(func(item objectsync.Primary, u *unstructured.Unstructured) {
		if (!objectsync.IsOrphaned(u) || w.deletesLeft()) && w.isLost(item) {
			w.objects.add(item)
		}
	})
}

// isLost reports whether an object seems to have gone without a word. Of endpoints that do not show all they have,
// nothing is said.
func (w *syncWorker) isLost(item objectsync.Primary) bool {
	home := w.homeOf(item)
	if home.gone || !home.Bound {
		return home.gone
	}
	e := w.streams.endpoint(home.Endpoint)
	return e != nil && e.objects.Ready() == nil &&
		e.objects.Get(inCluster(item.Cluster, item.NamespacedName)) == nil
}

// homeOf returns what is known of the workspace of an object. One that is not where it was may have moved: it is gone
// only if kcp was deleting its binding, or if a restore may have undone that, with which the copy stays.
func (w *syncWorker) homeOf(item objectsync.Primary) workspace {
	home := w.workspaces.get(item.Cluster)
	home.gone = home.absent && (home.Unbinds || w.objects.get(item).suspect)
	return home
}

// suspectAll records which objects have copies. If kcp has no such object, a restore has undone it: nobody has deleted
// it.
func (w *syncWorker) suspectAll() {
	w.objects.restored.Store(true)
	w.objects.each(func(_ objectsync.Primary, o *object) { o.suspect = false })
	w.eachCopy(func(item objectsync.Primary, u *unstructured.Unstructured) {
		if !objectsync.IsOrphaned(u) {
			w.objects.update(item, func(o *object) { o.suspect = true })
		}
	})
}

// held returns how many objects have our finalizer, and false if an endpoint does not show all it has.
func (w *syncWorker) held() (n int, known bool) {
	for _, e := range w.streams.allEndpoints() {
		if e.objects.Ready() != nil {
			return 0, false
		}
		for _, name := range e.objects.Names() {
			shown := w.workspaces.get(primaryOf(name).Cluster).shown
			if u := e.objects.Get(name); shown && u != nil && objectsync.HasFinalizer(u) {
				n++
			}
		}
	}
	return n, true
}
