package objectsync

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Secrets is the resource of the Secrets that hold states.
var Secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

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

// A pass is one sync of one object.
type pass struct {
	*Syncer
	Input

	id      Identity
	source  *unstructured.Unstructured // in the workspace, without what its consumer has no say in
	copied  *unstructured.Unstructured // on the service cluster, nil if there is none
	updated bool                       // The copy has been patched, and its status is that of before.
	stored  state                      // as the Secret has it
	secret  bool                       // There is a Secret.
	marked  bool                       // It tells whose it is.
	agents  bool                       // All of it is as api-syncagent has left it.
	lost    bool                       // The copy has been found by its marks: the state does not say where it is.
	whole   bool                       // All related objects are known.
	state   state                      // as it is to be
	result  Result

	names       int                  // how many related objects have been found
	formerState types.NamespacedName // the name of the state if it is not the one that a new one would have
}

// Sync brings an object, its copy and its related objects into step. It writes only what differs and reads only caches.
// A result is usable beside an error.
func (s *Syncer) Sync(ctx context.Context, in Input) (Result, error) {
	p, err := s.newPass(in, false)
	if err == nil && p.source != nil {
		err = p.run(ctx)
	}
	return p.result, p.warn(err)
}

// newPass begins a pass. It is usable for warnings beside an error. A last one gives up what belongs to the object,
// which may be gone.
func (s *Syncer) newPass(in Input, last bool) (*pass, error) {
	p := &pass{Syncer: s, Input: in.withRefusals()}
	p.id = p.identity(Primary{NamespacedName: p.Object, Cluster: p.Workspace.Cluster})
	if p.paths {
		p.id.Path = p.Workspace.Path
	}
	source, err := p.Workspace.Cache(s.primary.Workspace.GroupVersionResource).Get(p.Object)
	if err != nil || source == nil && !last {
		return p, err
	}
	p.source = s.primary.platform.withoutSpec(source)
	return p, p.load(last || source.GetDeletionTimestamp() != nil)
}

// load reads the state and the copy. If both are another's, a last pass has neither.
func (p *pass) load(last bool) error {
	secret, err := p.findState()
	if err != nil {
		return err
	}
	isForeign := secret != nil && !p.Owns(secret)
	if isForeign && !last {
		return p.notOurs()
	}
	if isForeign {
		secret = nil
	}
	p.secret, p.marked = secret != nil, secret != nil && secret.GetAnnotations()[AnnotationPublication] != ""
	if p.stored, err = readState(secret); err != nil {
		return err
	}
	p.stored.fits = func(bytes int) bool {
		return p.MayUse == nil || p.MayUse(p.names*bytesPerName+max(0, bytes-bytesFree))
	}
	p.stored.fits(p.stored.size()) // What is there counts, and stays.
	if p.copied, err = p.findCopy(); err != nil || p.copied == nil {
		p.state = p.stored.clone()
		return err
	}
	if isForeign {
		return p.notOurs()
	}
	p.result.Copy = nameOf(p.copied)
	p.lost = p.stored.copy.Name == ""
	p.agents = p.copied.GetAnnotations()[AnnotationKind] == "" && len(p.stored.records) == 0
	p.state = p.stored.clone()
	return nil
}

// run takes the steps of one pass.
func (p *pass) run(ctx context.Context) error {
	if p.source.GetDeletionTimestamp() != nil {
		return p.end(ctx)
	}
	passes, err := p.passes()
	if err != nil {
		return err
	}
	if !passes {
		if p.copied == nil && !HasFinalizer(p.source) {
			return nil
		}
		return p.leave(ctx)
	}
	if err := p.hold(ctx, p.workspaceRef(), p.source); err != nil {
		return err
	}
	both, err := p.syncCopy(ctx)
	if err != nil || both.Service == nil {
		return err
	}
	// What cannot be related is no reason to keep the status from the consumer.
	return oneOf(p.newRelatedSync(both).relate(ctx), p.syncStatus(ctx))
}

// passes reports whether the object passes the filter. One that is held stays so while its namespace is not known.
func (p *pass) passes() (bool, error) {
	if !p.filter.asksNamespaces() || p.Object.Namespace == "" {
		return p.filter.passes(p.source, nil), nil
	}
	ns, err := p.Workspace.Cache(Namespaces).Get(types.NamespacedName{Name: p.Object.Namespace})
	if err != nil {
		return false, err
	}
	if ns == nil {
		return HasFinalizer(p.source), nil
	}
	return p.filter.passes(p.source, ns), nil
}

func (p *pass) workspaceRef() Ref { return p.primary.Workspace.ref(p.Object) }

func (p *pass) me() Primary { return Primary{NamespacedName: p.Object, Cluster: p.id.Cluster} }
