package publication

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
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
	begun := time.Now()
	synced, err := p.run()
	switch {
	case errors.Is(err, errUnknown):
		w.objects.queue.AddAfter(item, recheckAfter)
		return
	case p.gone:
		p.forget()
		return
	}
	if err == nil {
		w.objects.succeed(item)
	} else {
		w.objects.queue.AddAfter(item, w.objects.pause(item, err))
	}
	p.settleFight()
	switch {
	case isEarly(err), apierrors.IsConflict(err):
	case err == nil && !synced:
		w.objects.update(item, func(o *object) { o.known, o.failure, o.warned = false, "", objectsync.Event{} })
	default:
		observe(w.name, err, time.Since(begun))
		w.objects.note(item, err)
	}
}

// sourceChanged adds to the queue an object that an endpoint shows otherwise, or no more. One that is shown alive,
// bound or not, was not seen in deletion: that may have been undone.
func (w *syncWorker) sourceChanged(e *endpoint, n types.NamespacedName) {
	item := primaryOf(n)
	if w.objects.get(item).deleted {
		if u := e.objects.Get(n); u != nil && u.GetDeletionTimestamp() == nil {
			w.objects.update(item, func(o *object) { o.deleted = false })
		}
	}
	w.objects.add(item)
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

// copyChanged adds to the queue whose copy has changed. The namespace of one that is gone may be empty now.
func (w *syncWorker) copyChanged(n types.NamespacedName) {
	w.needs.wake(lookAt(n, "", w.config.Sync.Primary.Service.GroupVersionResource))
	u := w.streams.copies.Get(n)
	if u == nil {
		w.namespaces.left(n.Namespace)
		w.config.shared.claimed.Delete(n.Namespace) // It may go, and be made again by others.
	}
	if item, ok := objectsync.SourceOf(u); ok {
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
		w.holders.add(item, nil, w.syncer.Held(item, w.streams.state(item)))
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
}

// eachCopy does something with the copies that tell of which objects they are.
func (w *syncWorker) eachCopy(do func(objectsync.Primary, *unstructured.Unstructured)) {
	for _, n := range w.streams.copies.Names() {
		u := w.streams.copies.Get(n)
		if item, ok := objectsync.SourceOf(u); ok {
			do(item, u)
		}
	}
}

// seekLost has copies looked at whose objects are not shown, and that are not known to be orphans.
func (w *syncWorker) seekLost() {
	w.eachCopy(func(item objectsync.Primary, u *unstructured.Unstructured) {
		if !objectsync.IsOrphaned(u) && !w.isShown(item) {
			w.objects.add(item)
		}
	})
}

// holdsNone reports whether all objects are known to be without our finalizer.
func (w *syncWorker) holdsNone() bool {
	for _, e := range w.streams.allEndpoints() {
		if e.objects.Ready() != nil {
			return false
		}
		for _, name := range e.objects.Names() {
			u := e.objects.Get(name)
			if u != nil && objectsync.HasFinalizer(u) && w.workspaces.get(primaryOf(name).Cluster).shown {
				return false
			}
		}
	}
	return true
}

// errPanic is the cause of errors that are mistakes of the program.
var errPanic = errors.New("this is a bug of the provider: report it, with this message and the version, at " +
	"https://github.com/crossplane-contrib/provider-kcp/issues")

// A pass is one sync of one object, and what it has looked at.
type pass struct {
	worker    *syncWorker
	ctx       context.Context //nolint:containedctx // The pass's own life.
	item      objectsync.Primary
	home      workspace // of the object
	endpoint  *endpoint // of the workspace, nil if there is none
	needs     set[need]
	gone      bool // Nothing is left of the object.
	wrote     []uint64
	waits     *time.Duration           // how long what others have undone has to wait, nil if nothing is repeated
	contested *objectsync.RefusalError // what others undo again and again, nil for nothing
	input     objectsync.Input
}

// newPass begins a pass.
func (w *syncWorker) newPass(ctx context.Context, item objectsync.Primary) *pass {
	home := w.workspaces.get(item.Cluster)
	return &pass{
		worker: w, ctx: ctx, item: item, needs: set[need]{}, home: home, endpoint: w.streams.endpoint(home.Endpoint),
	}
}

// run syncs the object, and reports whether it is one that has a copy.
func (p *pass) run() (synced bool, err error) {
	defer recoverPanic(&err)
	source, err := p.load()
	switch {
	case err != nil:
		p.update(func(o *object) { o.unseenSince = time.Time{} }) // By now nothing is known.
		return false, err
	case p.worker.config.RemoveFinalizers:
		return false, p.removeFinalizers(source)
	case source == nil:
		return false, p.lost()
	}
	return p.sync(source)
}

// recoverPanic, deferred, makes a panic an error: what one object is made of must not end the sync of all. The error
// tells nothing of what was panicked with, which may be data of a consumer, and the log where.
func recoverPanic(err *error) {
	if r := recover(); r != nil {
		*err = errors.Wrapf(errPanic, "%T", r)
		log.Log.WithName("publication").Error(*err, "panic", "stack", string(debug.Stack()))
	}
}

// load prepares the input of the sync, and returns the object, nil if it is not there.
func (p *pass) load() (source *unstructured.Unstructured, err error) {
	w := p.worker
	p.input = objectsync.Input{
		MayRead: p.mayRead,
		Workspace: objectsync.Workspace{
			Side: emptySide, Workspace: gotemplate.Workspace{Cluster: p.item.Cluster, Path: p.home.Path},
		},
		Service: (&side{pass: p, client: w.config.Service.Dynamic()}).of(),
		Holders: w.holders, Object: p.item.NamespacedName, Claimed: &w.config.shared.claimed,
	}
	if p.endpoint == nil || !p.home.shown {
		return nil, nil //nolint:nilnil // So is none told.
	}
	source = p.endpoint.objects.Get(inCluster(p.item.Cluster, p.item.NamespacedName))
	if err := p.endpoint.objects.Ready(); err != nil && (source == nil || !informer.IsFailing(err)) {
		return nil, err // Of what is known, what one workspace has stops no other.
	}
	if source != nil && source.GetDeletionTimestamp() == nil && p.home.Path == "" &&
		w.config.Sync.Spec.EnableWorkspacePaths {
		return nil, errors.New("the path of the workspace is not known yet")
	}
	client, err := p.endpoint.cluster.In(p.item.Cluster)
	if err != nil {
		return nil, err
	}
	p.input.Workspace.Side = (&side{
		pass: p, client: client, endpoint: p.endpoint, cluster: p.item.Cluster,
	}).of()
	p.input.Workspace.ShowsAll = p.home.showsAll
	return source, nil
}

// sync syncs an object that is there.
func (p *pass) sync(source *unstructured.Unstructured) (synced bool, err error) {
	w := p.worker
	p.update(func(o *object) { o.deleted, o.unseenSince = source.GetDeletionTimestamp() != nil, time.Time{} })
	p.input.InStep = w.objects.get(p.item).inStep
	res, err := w.syncer.Sync(p.ctx, p.input)
	p.update(func(o *object) { o.inStep = res.InStep })
	if err == nil && p.contested != nil { // It has been written, which does not last.
		reason, message := objectsync.WarningOf(p.contested)
		res.Events, err = append(res.Events, objectsync.Event{
			Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		}), p.contested
	}
	w.needs.set(p.item, p.needs)
	held := w.syncer.Held(p.item, w.streams.state(p.item)) // What is not related any more may still have to go.
	if err == nil {
		w.holders.set(p.item, append(res.Related, held...))
	} else {
		w.holders.add(p.item, res.Related, held)
	}
	p.tell(source, res.Events)
	w.objects.noteOrphan(p.item, res.Rests)
	return res.Copy.Name != "" && !res.Rests, err
}

// tell has events about an object written in its workspace, if that takes any. A Warning that repeats the last one is
// told once.
func (p *pass) tell(source *unstructured.Unstructured, all []objectsync.Event) {
	was, warning := p.worker.objects.get(p.item).warned, objectsync.Event{}
	for _, e := range all {
		switch {
		case was.Type == e.Type && was.Reason == e.Reason && managedadapter.SameText(was.Message, e.Message):
			warning = was
		case !p.worker.workspaces.hides(p.item.Cluster, events.Resource):
			p.worker.events.record(p.endpoint.cluster, p.item.Cluster, source, e)
			if e.Type == corev1.EventTypeWarning {
				warning = e
			}
		}
	}
	p.update(func(o *object) { o.warned = warning })
}

// removeFinalizers takes our finalizers off an object, nil if it is not there, and its related objects. All else stays.
func (p *pass) removeFinalizers(source *unstructured.Unstructured) error {
	if source == nil && p.endpoint != nil && !p.worker.isUnseen(p.item) {
		return errUnknown
	}
	err := p.worker.syncer.RemoveFinalizers(p.ctx, p.input)
	if p.gone = err == nil && source == nil; !p.gone {
		p.worker.needs.set(p.item, p.needs)
	}
	return err
}

// forget removes the object from the index, and all that it needs and holds.
func (p *pass) forget() {
	w := p.worker
	w.needs.set(p.item, nil)
	w.holders.set(p.item, nil)
	w.objects.forget(p.item)
}

// update changes what is known of the object.
func (p *pass) update(change func(*object)) { p.worker.objects.update(p.item, change) }

// need notes that something is looked at. That is known before it is, so that no change is missed that comes meanwhile.
func (p *pass) need(k need) {
	p.needs[k] = struct{}{}
	p.worker.needs.add(p.item, k)
}

// mayRead reports whether a namespace of the service cluster may be looked at for the workspace.
func (p *pass) mayRead(namespace string) bool {
	k, ok := p.worker.needs.claim(p.item, namespace)
	if ok {
		p.needs[k] = struct{}{}
	}
	return ok
}
