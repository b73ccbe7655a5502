package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// A connector connects Objects of one scope to their targets.
type connector[T Object] struct {
	kind       scope.Kind[T]
	controller string
	registry   *target.Registry
	drift      *driftLimiter
	options    Options
}

// Connect returns the client of an Object's target.
func (c *connector[T]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	p := passOf(ctx)
	o, ok := mg.(T)
	if !ok {
		return nil, p.fail(errors.Errorf("resource is a %T and not a %s", mg, c.kind.GVK.Kind))
	}
	cluster, err := c.connect(ctx, o)
	if err != nil {
		// Whoever finds a target or its credentials missing is told when they are there.
		p.woken = target.IsUnreachable(err) || target.IsInvalidConnection(err) || errors.Is(err, scope.ErrNoConfig)
		return nil, p.fail(err)
	}
	p.cluster = cluster
	return &external{cluster: cluster, owner: c.owner(o), pass: p, drift: c.drift, options: c.options}, nil
}

func (c *connector[T]) connect(ctx context.Context, o T) (*target.Cluster, error) {
	// A usage cannot be made again in a namespace that is going away: https://github.com/crossplane/crossplane-runtime/issues/1113
	if !meta.WasDeleted(o) {
		if err := c.kind.Track(ctx, o); err != nil {
			return nil, errors.Wrap(errControlPlane, err.Error())
		}
	}
	c.registry.Bind(c.owner(o), c.kind.Key(o))
	connection, err := c.kind.Config(ctx, o)
	if errors.Is(err, scope.ErrNoConfig) {
		c.registry.Release(c.owner(o))
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot use ProviderConfig")
	}
	cluster, err := c.registry.Connect(ctx, c.owner(o), connection)
	return cluster, errors.Wrap(err, "cannot connect to target")
}

func (c *connector[T]) owner(o T) watch.Owner {
	return watch.Owner{
		Controller:     c.controller,
		NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
	}
}
