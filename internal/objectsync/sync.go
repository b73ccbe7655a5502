package objectsync

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/naming"
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
	state   state                      // as it is to be
	result  Result

	names       int                  // how many related objects have been found
	formerState types.NamespacedName // the name of the state if it is not the one that a new one would have
}

// findState returns the Secret with the state, nil if there is none.
func (p *pass) findState() (*unstructured.Unstructured, error) {
	states := p.Service.Cache(Secrets)
	named, err := states.Get(p.stateName())
	if err != nil || named != nil {
		return named, err
	}
	keyed, err := states.States(p.id.Key())
	if err != nil {
		return nil, err
	}
	found := p.ChooseState(p.me(), nil, keyed)
	if found != nil {
		p.formerState = nameOf(found)
	}
	return found, nil
}

// Sync brings an object, its copy and its related objects into step. It writes only what differs and reads only caches.
// A result is usable beside an error.
func (s *Syncer) Sync(ctx context.Context, in Input) (Result, error) {
	source, err := in.Workspace.Cache(s.primary.Workspace.GroupVersionResource).Get(in.Object)
	if r := RefusalOf(err); r != nil && r.Cause == RefusedUnread {
		p := &pass{}
		err = p.warn(err)
		return p.result, err
	}
	if err != nil || source == nil {
		return Result{}, err
	}
	p, err := s.newPass(in, source.GetDeletionTimestamp() != nil)
	if err == nil {
		p.source = s.primary.platform.withoutSpec(source)
		err = p.run(ctx)
	}
	return p.result, p.warn(err)
}

// newPass begins a pass. It is usable for warnings beside an error. A last one gives up what belongs to the object.
func (s *Syncer) newPass(in Input, last bool) (*pass, error) {
	p := &pass{Syncer: s, Input: in.withRefusals()}
	return p, p.load(last)
}

// load reads the copy and the state. If both are another's, a last pass has neither.
func (p *pass) load(last bool) error {
	p.id = p.identity(Primary{NamespacedName: p.Object, Cluster: p.Workspace.Cluster})
	if p.paths {
		p.id.Path = p.Workspace.Path
	}
	candidates, err := p.Service.Cache(p.primary.Service.GroupVersionResource).Copies(p.id.Key())
	if err != nil {
		return err
	}
	if p.copied, err = p.id.choose(candidates); err != nil {
		return err
	}
	if p.copied != nil {
		p.result.Copy = types.NamespacedName{Namespace: p.copied.GetNamespace(), Name: p.copied.GetName()}
	}
	secret, err := p.findState()
	if err != nil {
		return err
	}
	if secret != nil && !p.Owns(secret) {
		if p.copied != nil || !last {
			return p.notOurs()
		}
		secret = nil
	}
	p.secret, p.marked = secret != nil, secret != nil && secret.GetAnnotations()[AnnotationPublication] != ""
	p.stored, err = readState(secret)
	p.stored.fits = func(bytes int) bool {
		return p.MayUse == nil || p.MayUse(p.names*bytesPerName+max(0, bytes-bytesFree))
	}
	p.stored.fits(p.stored.size()) // What is there counts, and stays.
	p.agents = p.copied != nil && p.copied.GetAnnotations()[AnnotationKind] == "" && len(p.stored.records) == 0
	p.state = p.stored.clone()
	return err
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

func (p *pass) naming() naming.Source {
	return naming.Source{Cluster: p.id.Cluster, Path: p.Workspace.Path, Object: p.source}
}

func (p *pass) me() Primary { return Primary{NamespacedName: p.Object, Cluster: p.id.Cluster} }
