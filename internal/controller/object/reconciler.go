package object

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// earlyPoll is how soon an Object is reconciled again that is gone early, if nothing else says when.
const earlyPoll = 2 * time.Second

// A reconciler reconciles Objects of one scope. It wraps crossplane-runtime's reconciler, and takes its steps: it
// connects to targets, follows references, and keeps the finalizer.
type reconciler[T Object] struct {
	targetresource.Base[T]

	managed reconcile.Reconciler
	drift   targetresource.Drift
	writes  *managedadapter.Coalescer
	options Options
	early   sync.Map // Objects by their names that are gone although our finalizer was to keep them
}

// Reconcile reconciles one Object.
func (c *reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &reconciliation{}
	p.Amend, p.Shrink, p.Publish = p.amend, shrink, p.publish
	p.Postpone = func(was, is client.Object) bool { return c.postpones(p, objectOf(was), objectOf(is)) }
	ctx = managedadapter.With(context.WithValue(ctx, reconciliationKey{}, p), &p.Reconciliation)
	res, err := reconcile.Result{RequeueAfter: earlyPoll}, error(nil)
	if c.finish(ctx, req.NamespacedName) {
		if leaves, err := c.passOn(ctx, req.NamespacedName); leaves || err != nil {
			return reconcile.Result{}, err
		}
		res, err = p.Run(ctx, req, c.managed)
		if p.gone && p.err == nil {
			res, err = p.Run(ctx, req, c.managed) // crossplane-runtime never looks whether a deletion is done at once.
		}
	}
	if p.Gone {
		c.forget(req.NamespacedName)
	}
	owner := c.Owner(req.NamespacedName)
	if p.err == nil && p.target != nil {
		p.target.Cluster.Retries().Forget(owner)
	}
	if p.Unsaved {
		err = c.save(ctx, p.object)
	}
	switch {
	case err != nil:
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	case p.Unsaved:
		return res, nil
	case causeOf(p.err).Woken:
		return reconcile.Result{RequeueAfter: c.Poll.Waiting()}, nil
	case apierrors.IsConflict(p.err):
		return res, nil // Something was not seen yet. Nothing has failed.
	case p.err != nil && p.target != nil:
		if delay := p.target.Cluster.Retries().When(owner); delay > targetresource.RetryMax {
			return reconcile.Result{RequeueAfter: delay}, nil // The target has failed too often lately.
		}
	case p.retry > 0:
		return reconcile.Result{RequeueAfter: p.retry}, nil
	}
	return res, nil
}

// save records what the Object has seen although its status could not be written, because somebody has changed the
// Object meanwhile. What the next reconcile finds in the manifest may be the name of another resource, and nothing else
// would tell of this one. An Object of the same name that has taken the place of this one gets nothing of it.
func (c *reconciler[T]) save(ctx context.Context, o Object) error {
	content, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(o) // It comes from JSON.
	err := c.Local.Status().Patch(ctx, o, client.RawPatch(types.JSONPatchType, encode([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": o.GetUID()},
		{"op": "add", "path": "/status", "value": content["status"]},
	})))
	return errors.Wrap(client.IgnoreNotFound(err), "cannot record the resource in the status")
}

// record writes a change of what an Object has seen to its status, unless somebody has changed the Object meanwhile.
// The rest of the status stays as it is in memory.
func (c *reconciler[T]) record(ctx context.Context, o Object, change func(*commonv1.ObjectObservation)) error {
	now := copyOf(o)
	before := client.MergeFromWithOptions(copyOf(o), client.MergeFromWithOptimisticLock{})
	change(now.Observed())
	if err := c.Local.Status().Patch(ctx, now, before); err != nil {
		return errors.Wrap(err, "cannot patch status of Object")
	}
	o.SetResourceVersion(now.GetResourceVersion())
	change(o.Observed())
	return nil
}

// forget ends what is known of an Object, when it is done with.
func (c *reconciler[T]) forget(n types.NamespacedName) {
	owner := c.Owner(n)
	c.Registry.Forget(owner)
	c.Registry.Forget(previousOwner(owner))
	c.drift.Forget(owner)
	c.writes.Forget(n)
}

// Connect returns the client of an Object's target.
func (c *reconciler[T]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	p, o := reconciliationOf(ctx), mg.(T) //nolint:forcetypeassert // The reconciler is of this kind only.
	if meta.WasDeleted(o) && dryRun(o) {
		if len(o.GetFinalizers()) == 1 {
			c.Events.Event(o, event.Normal(reasonLeft,
				"Kept the external resource: the deleted Object had the dry-run annotation"))
		}
		return &managed.NopClient{}, nil
	}
	e, err := c.open(ctx, o)
	if err == nil {
		return e, nil
	}
	if meta.WasDeleted(o) {
		err = p.orLeave(o, err)
	}
	return &managed.NopClient{}, p.fail(err) // Without an error there is nothing left to delete.
}

// open returns the resource of an Object: through the ProviderConfig the Object refers to or, once it is deleted,
// through the one it has last seen its resource through.
func (c *reconciler[T]) open(ctx context.Context, o T) (*external, error) {
	p, via, moved := reconciliationOf(ctx), o, moved(c.Kind, o)
	if moved && meta.WasDeleted(o) {
		via, moved = c.Kind.Through(o, *o.Observed().ProviderConfigReference), false
	}
	owner := c.Owner(client.ObjectKeyFromObject(o))
	cluster, err := c.connect(ctx, owner, via, moved)
	if err != nil {
		return nil, err
	}
	r := &remote{
		reconciliation: p, Resource: targetresource.Resource{
			Cluster: cluster, Owner: owner, Purpose: purposeManifest,
			Admit: func(ctx context.Context) error {
				_, err := c.connect(ctx, owner, via, moved)
				return err
			},
		},
		gvk: c.Kind.GVK, drift: &c.drift, events: c.Events, options: c.options, local: c.Registry.Local(),
		record: c.record,
		config: c.Kind.Ref(via), moved: moved, leaves: moved && !c.Registry.Slots().Responsible(c.Kind.Key(o)),
		connectPrevious: func(ctx context.Context) (*clusters.Cluster, error) {
			was := c.Kind.Through(o, *o.Observed().ProviderConfigReference)
			return c.connect(ctx, previousOwner(owner), was, false)
		},
		forgetPrevious: func() { c.Registry.Forget(previousOwner(owner)) },
	}
	p.target = &r.Resource
	return &external{remote: r}, nil
}

// connect returns the target of an Object. One that moves is in the slot of the ProviderConfig that it leaves.
func (c *reconciler[T]) connect(ctx context.Context, owner informer.Owner, o T, moves bool,
) (*clusters.Cluster, error) {
	config := targetresource.ConfigOf(c.Kind, o)
	config.Visits = moves
	return targetresource.Connect(ctx, c.Registry, owner, config)
}

// previousTarget is added to the name of an Object that has moved, to make an owner of what it has on the target that
// it has left. See handlers.Targets.
const previousTarget = "/previous"

func previousOwner(o informer.Owner) informer.Owner {
	o.Name += previousTarget
	return o
}

// Initialize holds a deleted Object back while others refer to it: they need its resource to go themselves.
func (c *reconciler[T]) Initialize(ctx context.Context, mg resource.Managed) error {
	if !meta.WasDeleted(mg) {
		return nil
	}
	return reconciliationOf(ctx).fail(c.options.References.Dependents(ctx, c.referrer(mg)))
}

// ResolveReferences follows the references of an Object, and keeps what they lead to if the Object has our finalizer.
// If it has none yet, it gets one first, once its target has been reached.
func (c *reconciler[T]) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	p := reconciliationOf(ctx)
	res, err := c.options.References.Resolve(ctx, c.referrer(mg))
	p.references = res
	if meta.FinalizerExists(mg, managed.FinalizerName) {
		if err := c.hold(ctx, mg); err != nil {
			return err
		}
	}
	return p.fail(err)
}

// hold keeps what the references of an Object lead to, once in a reconcile.
func (c *reconciler[T]) hold(ctx context.Context, obj client.Object) error {
	p := reconciliationOf(ctx)
	if p.held || p.references == nil {
		return nil
	}
	f := c.referrer(obj)
	record := func(ctx context.Context, pins []commonv1.PinnedReference) error {
		return c.record(ctx, objectOf(obj), func(obs *commonv1.ObjectObservation) { obs.References = pins })
	}
	err := c.options.References.Hold(ctx, f, p.references, record)
	p.held = err == nil
	return p.fail(err)
}

func (c *reconciler[T]) referrer(obj client.Object) reference.Referrer {
	return reference.Referrer{Object: objectOf(obj), GVK: c.Kind.GVK}
}

// unseen returns what a deleted Object that has seen no resource may have applied in its last moments, nil if nothing.
func (e deletion) unseen(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	refs, err := e.options.References.Resolve(ctx, reference.Referrer{Object: o, GVK: e.gvk})
	if apierrors.IsConflict(err) {
		return nil, err // It is too early to tell.
	}
	if err != nil && reference.Names(o.Desired()) {
		return nil, nil //nolint:nilnil // Nothing is applied before its name is known.
	}
	m, err := manifest(o, refs)
	if errors.Is(err, errInvalidManifest) || reference.ReasonOf(err) != "" {
		return nil, nil //nolint:nilnil // What cannot be applied has not been.
	}
	return m, err
}
