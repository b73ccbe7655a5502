package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A connector connects Objects of one scope to their targets.
type connector[T Object] struct {
	kind       scope.Kind[T]
	controller string
	registry   *target.Registry
	drift      *targetresource.Drift
	events     event.Recorder
	options    Options
}

// Connect returns the client of an Object's target.
func (c *connector[T]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	p := passOf(ctx)
	o, ok := mg.(T)
	if !ok {
		return nil, p.fail(errors.Errorf("resource is a %T and not a %s", mg, c.kind.GVK.Kind))
	}
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
		return nowhere(), nil
	}
	return nil, p.fail(waiting(err))
}

// open returns the resource of an Object: through the ProviderConfig the Object refers to or, once it is deleted,
// through the one it has last seen its resource through.
func (c *connector[T]) open(ctx context.Context, o T) (*external, error) {
	p, via, moved := passOf(ctx), o, moved(c.kind, o)
	if moved && meta.WasDeleted(o) {
		via, moved = c.before(o), false
	}
	r := &remote{
		owner: c.owner(o), gvk: c.kind.GVK, pass: p, drift: c.drift, events: c.events, options: c.options,
		local: c.registry.Local(), config: c.kind.Ref(via), moved: moved,
		former: func(ctx context.Context) (*target.Cluster, error) {
			return c.connect(ctx, formerOwner(c.owner(o)), c.before(o))
		},
		forget: func() { c.registry.Forget(formerOwner(c.owner(o))) },
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

func (c *connector[T]) owner(o T) informer.Owner {
	return informer.Owner{
		Controller:     c.controller,
		NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
	}
}

// formerController is added to the name of a controller for what its objects have of the targets they have left.
const formerController = "/former"

// formerOwner returns as whom an owner uses the target that it has left, beside the one it has moved to.
func formerOwner(o informer.Owner) informer.Owner {
	return informer.Owner{Controller: o.Controller + formerController, NamespacedName: o.NamespacedName}
}
