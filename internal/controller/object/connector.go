package object

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A connector connects Objects of one scope to their targets, and takes the other steps of crossplane-runtime: it
// follows references, and keeps the finalizer.
type connector[T Object] struct {
	kind       scope.Kind[T]
	controller string
	registry   *target.Registry
	drift      *targetresource.Drift
	events     event.Recorder
	options    Options
	local      client.Client
	early      *deletedearly.Objects[T]
	forget     func(types.NamespacedName) // called when an Object is done with
}

// Connect returns the client of an Object's target.
func (c *connector[T]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	p, o := reconciliationOf(ctx), mg.(T) //nolint:forcetypeassert // The reconciler is of this kind only.
	if meta.WasDeleted(o) && dryRun(o) {
		return c.leave(o), nil
	}
	e, err := c.open(ctx, o)
	if err == nil {
		return e, nil
	}
	if !meta.WasDeleted(o) {
		return nil, p.fail(err)
	}
	if releasesResource(o, err) {
		p.left = err
		return &managed.NopClient{}, nil // There is nothing left to delete.
	}
	return nil, p.fail(waiting(err))
}

// open returns the resource of an Object: through the ProviderConfig the Object refers to or, once it is deleted,
// through the one it has last seen its resource through.
func (c *connector[T]) open(ctx context.Context, o T) (*external, error) {
	p, via, moved := reconciliationOf(ctx), o, moved(c.kind, o)
	if moved && meta.WasDeleted(o) {
		via, moved = c.before(o), false
	}
	r := &remote{
		owner: c.owner(o), gvk: c.kind.GVK, reconciliation: p, drift: c.drift, events: c.events, options: c.options,
		local: c.registry.Local(), config: c.kind.Ref(via), moved: moved,
		connectPrevious: func(ctx context.Context) (*target.Cluster, error) {
			return c.connect(ctx, previousOwner(c.owner(o)), c.before(o))
		},
		forgetPrevious: func() { c.registry.Forget(previousOwner(c.owner(o))) },
	}
	var err error
	if r.cluster, err = c.connect(ctx, r.owner, via); err != nil {
		// An owner whose target or credentials are missing is woken when they are there.
		p.woken = targetresource.IsCutOff(err)
		return nil, err
	}
	p.cluster = r.cluster
	return &external{remote: r}, nil
}

func (c *connector[T]) connect(ctx context.Context, owner informer.Owner, o T) (*target.Cluster, error) {
	return targetresource.Connect(ctx, c.registry, owner, targetresource.Config{
		Key: c.kind.Key(o), Ends: c.ends(ctx, o),
		Read: func(ctx context.Context) (commonv1.Connection, error) { return c.kind.Config(ctx, o) },
	})
}

// ends reports whether an Object is deleted together with its ProviderConfig, as when their namespace is. Then its
// credentials may go first, and nobody means to cut the Object off from its target.
func (c *connector[T]) ends(ctx context.Context, o T) bool {
	if !meta.WasDeleted(o) {
		return false
	}
	leaving, err := c.kind.Leaving(ctx, o)
	return err == nil && leaving
}

// before returns an Object that has moved as it was.
func (c *connector[T]) before(o T) T { return c.kind.Through(o, *o.Observed().ProviderConfigReference) }

func (c *connector[T]) owner(o client.Object) informer.Owner {
	return informer.Owner{Controller: c.controller, NamespacedName: client.ObjectKeyFromObject(o)}
}

// previousTarget is added to the name of an Object that has moved, to make an owner of what it has on the target that
// it has left.
const previousTarget = "/previous"

func previousOwner(o informer.Owner) informer.Owner {
	o.Name += previousTarget
	return o
}

// objectOfOwner returns the Object of the name of an owner.
func objectOfOwner(n types.NamespacedName) types.NamespacedName {
	n.Name = strings.TrimSuffix(n.Name, previousTarget)
	return n
}
