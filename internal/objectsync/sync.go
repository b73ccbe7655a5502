package objectsync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// An Input is one object to be synced, and all that is needed for it.
type Input struct {
	Workspace Workspace
	Service   Side
	Holders   Holders
	// Object is the name of the object in the workspace.
	Object types.NamespacedName
	// MayRead asks whether a namespace of the service cluster other than that of the copy may be looked at. Nil allows
	// all.
	MayRead func(namespace string) bool
	// Claimed is what is known of LabelCopiesOf on namespaces of the service cluster, by their names. Nil knows none.
	Claimed *sync.Map
	// InStep are the related objects that the last pass has left in step with their copies, whose content is not read.
	InStep map[Record]Versions
}

// Versions are what a related object and its copy were when they were in step: their resource versions, a hash of what
// is remembered, and the path of the workspace, which mutation may use.
type Versions struct {
	Origin, Copy, Path string
	Remembered         [sha256.Size]byte
}

// A Result is what one pass has found out.
type Result struct {
	// Events are for the consumer, on the object in the workspace.
	Events []Event
	// Related are the related objects that the object refers to and may name, whether they are there or not.
	Related []Holding
	// Copy is the name of the copy, empty if there is none.
	Copy types.NamespacedName
	// Rests reports whether the object has left the filter, and its copy is an orphan.
	Rests bool
	// InStep is that of the next Input.
	InStep map[Record]Versions
}

// Sync brings an object, its copy and its related objects into step. It writes only what differs and reads only caches
// and the content of related objects. A result is usable beside an error.
func (s *Syncer) Sync(ctx context.Context, in Input) (Result, error) {
	p, err := s.begin(in, false)
	if err == nil && p.view.source != nil {
		err = p.run(ctx)
	}
	if reason, message := WarningOf(err); reason != "" {
		p.result.Events = append(p.result.Events, Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
	}
	return p.result, err
}

// Release deletes the copy of an object and what belongs to it, for an object that is no longer there. It is called
// again until nothing is left.
func (s *Syncer) Release(ctx context.Context, in Input) error {
	p, err := s.begin(in, true)
	if err == nil {
		_, err = p.release(ctx)
	}
	return err
}

// Left returns what is left of an object that is gone: its copy, nil if there is none, and whether there is a state.
func (s *Syncer) Left(in Input) (copied *unstructured.Unstructured, state bool, err error) {
	p, err := s.begin(in, true)
	return p.view.copied, p.secret.exists, err
}

// Abandon makes the copy of an object that is not seen an orphan. It stays, and so do its related objects and its
// state: should the object be seen again, by whatever publication, they are its own. Related objects in the workspace
// that no others keep lose our finalizer.
func (s *Syncer) Abandon(ctx context.Context, in Input) error { return s.leaveAlone(ctx, in, true) }

// RemoveFinalizers takes our finalizer off an object and those of its related objects in the workspace that no others
// keep, the object last, and leaves all else: for a PublishedResource that goes without what it has made. Should the
// object be synced again, by whatever publication, copies and state are its own.
func (s *Syncer) RemoveFinalizers(ctx context.Context, in Input) error {
	return s.leaveAlone(ctx, in, false)
}

// leaveAlone detaches the copy, and takes finalizers off.
func (s *Syncer) leaveAlone(ctx context.Context, in Input, orphan bool) error {
	p, err := s.begin(in, true)
	if err == nil {
		err = p.detach(ctx, orphan)
	}
	if err == nil {
		err = p.removeFinalizers(ctx)
	}
	return err
}

// A pass is one sync of one object: it reads a view, plans what each copy needs, and executes that.
type pass struct {
	planner

	in     Input
	secret *stateSecret
	state  state // as it is to be
	result Result
	whole  bool // All related objects are known.
}

// begin reads the view of an object. The pass is usable beside an error. A last one gives up what belongs to the
// object, which may be gone.
func (s *Syncer) begin(in Input, last bool) (*pass, error) {
	in.Workspace.ofWorkspace, in.Claimed = true, cmp.Or(in.Claimed, &sync.Map{})
	v, secret, err := s.look(in, last)
	p := &pass{planner: planner{syncer: s, view: v}, in: in, secret: secret, state: v.stored.clone()}
	p.result.InStep = in.InStep
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
	case v.copied == nil && !HasFinalizer(v.source) && isRelatedCopy(p.in.Holders, v):
		return nil
	case p.passes():
	case v.copied != nil: // A wrong label, or a wrong filter, is no reason to delete what is in use.
		p.result.Rests = true
		return p.detach(ctx, true)
	case !HasFinalizer(v.source) && !p.secret.exists:
		return nil
	default:
		return p.leave(ctx)
	}
	if !HasFinalizer(v.source) {
		if _, err := p.in.hold(ctx, v.ref, v.source); err != nil {
			return err
		}
		p.result.tell(ReasonAccepted, "The provider of the service has accepted the object")
	}
	if v.copied != nil && v.copied.GetDeletionTimestamp() != nil {
		return p.syncStatus(ctx) // Its end is waited for.
	}
	var errs []error
	if v.copied == nil && HasFinalizer(v.source) { // A new copy is not ready before its operator says so.
		errs = append(errs, p.syncStatus(ctx))
	}
	both, err := p.syncCopy(ctx)
	if errs = append(errs, err); err == nil {
		errs = append(errs, p.relate(ctx, both))
	}
	if err == nil && v.copied != nil { // What cannot be related is no reason to keep the status from the consumer.
		errs = append(errs, p.syncStatus(ctx))
	}
	return oneOf(errs...)
}

// isRelatedCopy reports whether an object has come from the service cluster as related to another one: it says so or,
// as one of api-syncagent does not, is recorded. A copy is an origin of nothing.
func isRelatedCopy(all Holders, v *view) bool {
	return isMadeBy(v.source, FieldManagerRelated) ||
		slices.ContainsFunc(all.Holdings(v.id.Cluster, v.ref), func(h Holding) bool {
			return h.Kept && h.Origin == v1alpha1.OriginService
		})
}

// syncCopy makes the copy, or brings it into step, and returns both sides of the object.
func (p *pass) syncCopy(ctx context.Context) (related.View, error) {
	to, err := p.destination(ctx)
	if err != nil {
		return related.View{}, err
	}
	plan := p.plan(p.primary(to), &p.state)
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
	to, err := p.byNaming()
	was := p.syncer.copyRef(p.view.stored.copy.NamespacedName)
	if was.Name == "" || was == to || to.Name == "" {
		return to, err
	}
	if is, err := p.isThere(ctx); err != nil || is {
		return was, err
	}
	return to, err
}

// A view is what has been read of one object, before anything is decided. Related objects follow once it is known how
// the copy will be.
type view struct {
	id        Identity
	ref       Ref // in the workspace
	workspace gotemplate.Workspace
	source    *unstructured.Unstructured // in the workspace, without what its consumer has no say in
	namespace *unstructured.Unstructured // of the source; nil if it is not known or the filter does not ask
	copied    *unstructured.Unstructured // on the service cluster, nil if there is none
	patched   bool                       // The copy has been patched since, and its status is that of before.
	stored    state                      // as the Secret has it
	agents    bool                       // All of it is as api-syncagent has left it.
	lost      bool                       // The copy has been found by its marks: the state does not say where it is.

	// name returns the name that naming gives the copy. Of an object that is gone there are the names alone.
	name func() (types.NamespacedName, error)
}

// look reads an object, its state and its copy. If state and copy are another's, it reads neither for a last pass. View
// and Secret are usable beside an error.
func (s *Syncer) look(in Input, last bool) (*view, *stateSecret, error) {
	me := Primary{NamespacedName: in.Object, Cluster: in.Workspace.Cluster}
	v := &view{id: s.identity(me), ref: s.RefOf(me), workspace: in.Workspace.Workspace}
	if s.config.Spec.EnableWorkspacePaths {
		v.id.Path = v.workspace.Path
	}
	secret := &stateSecret{syncer: s, service: in.Service, id: v.id, name: s.StateOf(me)}
	source, err := in.Workspace.Cache(s.primary.from.GroupVersionResource).Get(in.Object)
	if err != nil || source == nil && !last {
		return v, secret, err
	}
	v.source = s.primary.platform.without(specField, source)
	v.name = sync.OnceValues(func() (types.NamespacedName, error) { return s.nameFor(v) })
	last = last || source.GetDeletionTimestamp() != nil
	if !last && s.filter.namespace.Labels != nil && in.Object.Namespace != "" {
		v.namespace, err = in.Workspace.Cache(Namespaces).Get(types.NamespacedName{Name: in.Object.Namespace})
		if err != nil {
			return v, secret, err
		}
	}
	found, err := secret.find(in.Service.Cache(Secrets))
	isForeign := found != nil && !s.Owns(found)
	switch {
	case err != nil:
		return v, secret, err
	case isForeign && !last:
		return v, secret, secret.notOurs()
	case isForeign:
		found = nil
	}
	if v.stored, err = secret.read(found); err != nil {
		return v, secret, err
	}
	v.copied, err = v.findCopy(in.Service.Cache(s.primary.to.GroupVersionResource), secret.exists)
	if err == nil && v.copied != nil && isForeign {
		err = secret.notOurs()
	}
	if v.copied != nil {
		v.lost = v.stored.copy.Name == ""
		v.agents = v.copied.GetAnnotations()[AnnotationKind] == "" && len(v.stored.records) == 0
	}
	return v, secret, err
}

// findCopy returns the copy, nil if there is none. It is where the state says and, without a state, where naming has
// it: what says elsewhere that it is the copy was written by somebody else. Only a state that does not say where, as
// that of api-syncagent, lets a copy that an earlier rule has named be found by what it says.
func (v *view) findCopy(copies Cache, hasState bool) (*unstructured.Unstructured, error) {
	if at := v.location(); at.Name != "" {
		if u, err := copies.Get(at); err != nil || u != nil && v.isCopy(u) {
			return u, err
		}
	}
	if !hasState || v.stored.copy.Name != "" {
		return nil, nil //nolint:nilnil // So is none told.
	}
	all, err := copies.Copies(v.id.Key())
	all = slices.DeleteFunc(slices.Clone(all), func(u *unstructured.Unstructured) bool { return !v.isCopy(u) })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if len(all) > 1 {
		return nil, errors.Wrapf(ErrAmbiguous, "%d objects are copies of %s", len(all), v.id.Primary)
	}
	return all[0], nil
}

// location returns where the copy is looked for: where the state says or, if it does not, where a rule has it. It has
// no name if that fails.
func (v *view) location() types.NamespacedName {
	at := v.stored.copy.NamespacedName
	if at.Name == "" {
		at, _ = v.name()
	}
	return at
}

// isCopy reports whether an object that is where the copy is to be is the copy: it says so or, if it says nothing, has
// the UID of the copy.
func (v *view) isCopy(u *unstructured.Unstructured) bool {
	is := v.id.ownershipOf(u)
	return is == ours || is == unowned && u.GetUID() == v.stored.copy.UID && u.GetUID() != ""
}

// nameFor returns the name that naming gives the copy of an object.
func (s *Syncer) nameFor(v *view) (types.NamespacedName, error) {
	source := v.source
	if source == nil {
		source = &unstructured.Unstructured{Object: map[string]any{}}
		source.SetNamespace(v.id.Namespace)
		source.SetName(v.id.Name)
	}
	return s.namer.Name(v.workspace, source)
}

// both returns both sides of the object, as rules see them.
func (v *view) both() related.View {
	return related.View{In: v.workspace, Workspace: v.source, Service: v.copied}
}
