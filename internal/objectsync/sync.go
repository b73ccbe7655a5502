package objectsync

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// An Input is one object to be synced, and all that is needed for it.
type Input struct {
	Workspace Workspace
	Service   Side
	Holders   Holders
	// Object is the name of the object in the workspace.
	Object types.NamespacedName
	// MayLook asks whether a namespace of the service cluster other than that of the copy may be looked at. Nil allows
	// all.
	MayLook func(namespace string) bool
	// MayUse asks whether the object may use so many bytes of the RoomMost of its workspace. Nil allows all.
	MayUse func(bytes int) bool
	// Undone says that the workspace was restored to an earlier time. Related objects that are missing there may have
	// been undone, which is no reason to delete their copies.
	Undone bool
}

// A Result is what one pass has found out.
type Result struct {
	// Events are for the consumer, on the object in the workspace.
	Events []Event
	// Related are the related objects that the object refers to and may name, whether they are there or not.
	Related []Holding
	// Copy is the name of the copy, empty if there is none.
	Copy types.NamespacedName
	// Waiting says what is waited for, empty if nothing is. Its change is a reason to sync the object again.
	Waiting string
}

// Sync brings an object, its copy and its related objects into step. It writes only what differs and reads only caches.
// A result is usable beside an error.
func (s *Syncer) Sync(ctx context.Context, in Input) (Result, error) {
	p, err := s.begin(in, false)
	if err == nil && p.view.source != nil {
		err = p.run(ctx)
	}
	if reason, message := warningOf(err); reason != "" {
		p.result.Events = append(p.result.Events, Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
	}
	return p.result, err
}

// Release deletes the copy of an object and what belongs to it, for an object that is no longer there. It is called
// again until nothing is waited for.
func (s *Syncer) Release(ctx context.Context, in Input) (Result, error) {
	p, err := s.begin(in, true)
	if err == nil {
		_, err = p.release(ctx)
	}
	return p.result, err
}

// Left returns what is left of an object that is gone: its copy, nil if there is none, and whether there is a state.
func (s *Syncer) Left(in Input) (copied *unstructured.Unstructured, state bool, err error) {
	p, err := s.begin(in, true)
	return p.view.copied, p.secret.exists, err
}

// Abandon removes our finalizer from an object whose workspace leaves, and from its related objects there. The copy
// stays, marked as left behind, and so do its related objects and its state: should the object come again, by whatever
// publication, they are its own.
func (s *Syncer) Abandon(ctx context.Context, in Input) error {
	return s.leaveAlone(ctx, in, map[string]any{
		AnnotationOrphaned: "true", AnnotationKind: s.identity(Primary{}).Kind.String(),
	})
}

// RemoveFinalizers takes our finalizer off an object and its related objects in the workspace, the object last, and
// leaves all else: for a PublishedResource that goes without what it has made. Should the object be synced again, by
// whatever publication, copies and state are its own.
func (s *Syncer) RemoveFinalizers(ctx context.Context, in Input) error {
	return s.leaveAlone(ctx, in, map[string]any{})
}

// leaveAlone gives the copy annotations, and takes finalizers off.
func (s *Syncer) leaveAlone(ctx context.Context, in Input, annotations map[string]any) error {
	p, err := s.begin(in, true)
	if err == nil {
		err = p.disown(ctx, annotations)
	}
	if err == nil {
		err = p.removeFinalizers(ctx)
	}
	return err
}

// A pass is one sync of one object: it reads a view, plans what each copy needs, and executes that.
type pass struct {
	syncer  *Syncer
	in      Input
	view    *view
	planner planner
	servers servers
	secret  *stateSecret
	state   state // as it is to be
	result  Result
	whole   bool // All related objects are known.
}

// begin reads the view of an object. The pass is usable beside an error. A last one gives up what belongs to the
// object, which may be gone.
func (s *Syncer) begin(in Input, last bool) (*pass, error) {
	in = in.withRefusals()
	v, secret, err := s.look(in, last)
	p := &pass{
		syncer: s, in: in, view: v, secret: secret, state: v.stored.clone(), planner: planner{syncer: s, view: v},
		servers: servers{workspace: in.Workspace, service: in.Service, namespaces: s.namespaces},
	}
	if v.copied != nil && err == nil {
		p.result.Copy = nameOf(v.copied)
	}
	return p, err
}

// run takes the steps of one pass.
func (p *pass) run(ctx context.Context) error {
	v := p.view
	switch {
	case v.source.GetDeletionTimestamp() != nil:
		return p.end(ctx)
	case p.planner.passes():
	case v.copied == nil && !HasFinalizer(v.source):
		return nil
	default:
		return p.leave(ctx)
	}
	held, err := p.servers.hold(ctx, p.view.ref, v.source)
	if err != nil {
		return err
	}
	if held {
		p.result.tell(ReasonAccepted, "The provider of the service has accepted the object")
	}
	if v.copied != nil && v.copied.GetDeletionTimestamp() != nil {
		p.result.Waiting = "the deletion of the copy"
		return p.syncStatus(ctx)
	}
	both, err := p.syncCopy(ctx)
	if err != nil {
		return err
	}
	// What cannot be related is no reason to keep the status from the consumer.
	return oneOf(p.relate(ctx, both), p.syncStatus(ctx))
}

// syncCopy makes the copy, or brings it into step, and returns both sides of the object.
func (p *pass) syncCopy(ctx context.Context) (related.View, error) {
	to, err := p.destination(ctx)
	if err != nil {
		return related.View{}, err
	}
	plan := p.planner.plan(p.planner.primary(to), &p.state)
	err = p.execute(ctx, []copyPlan{plan})
	both := p.view.both()
	if plan.create != nil {
		both.Service = plan.create
	}
	return both, err
}

// destination returns where the copy is or, if there is none, where naming has it, unless a former one is there that is
// not shown.
func (p *pass) destination(ctx context.Context) (Ref, error) {
	if p.view.copied != nil {
		return p.syncer.copyRef(nameOf(p.view.copied)), nil
	}
	to, err := p.planner.destination()
	was := p.syncer.copyRef(p.view.stored.copy.namespacedName())
	if was.Name == "" || was == to || to.Name == "" {
		return to, err
	}
	if is, err := p.isThere(ctx); err != nil || is {
		return was, err
	}
	return to, err
}
