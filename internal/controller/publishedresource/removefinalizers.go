package publishedresource

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

const (
	// unholdPoll is how often we look whether all finalizers are off. The PublishedResource goes unholdMax after its
	// deletion at the latest: an owner who orphans does not want to wait for kcp.
	unholdPoll = time.Second
	unholdMax  = 2 * time.Minute
)

// errStillHeld means that objects of consumers may still have our finalizer.
var errStillHeld = errors.New("not all objects are known to be without it")

// mustRemoveFinalizers reports whether a PublishedResource goes and leaves what it has made: then nobody would take our
// finalizers off the objects of consumers.
func mustRemoveFinalizers(o *v1alpha1.PublishedResource) bool {
	deletes := o.GetDeletionPolicy() == xpv2.DeletionDelete &&
		policy.Allows(o.GetManagementPolicies(), xpv2.ManagementActionDelete)
	return meta.WasDeleted(o) && !meta.IsPaused(o) && len(o.GetManagementPolicies()) > 0 && !deletes &&
		meta.FinalizerExists(o, managed.FinalizerName) && o.Status.AgentName != ""
}

// removeFinalizers takes our finalizers off the objects of consumers before a PublishedResource goes that leaves what
// it has made. It returns after which time it is to be called again, zero when the PublishedResource can go.
func (c *connector) removeFinalizers(ctx context.Context, n types.NamespacedName) time.Duration {
	o := &v1alpha1.PublishedResource{}
	if err := c.local.Get(ctx, n, o); err != nil || !mustRemoveFinalizers(o) {
		return 0
	}
	err := c.tryRemoveFinalizers(ctx, o)
	switch {
	case err == nil:
	case time.Since(o.GetDeletionTimestamp().Time) < unholdMax:
		return unholdPoll
	default:
		c.events.Event(o, event.Warning(reasonStillHeld,
			errors.Wrap(err, "consumers have to take finalizer "+objectsync.Finalizer+" off their objects by hand")))
	}
	c.publications.Stop(n.Name)
	return 0
}

// tryRemoveFinalizers has finalizers taken off, and fails unless all are.
func (c *connector) tryRemoveFinalizers(ctx context.Context, o *v1alpha1.PublishedResource) error {
	e, err := c.open(ctx, o)
	if err != nil {
		return err
	}
	if err := e.look(ctx); err != nil {
		return err
	}
	if e.desiredAPI, err = e.desired(ctx, o); err != nil {
		return err
	}
	if err := e.see(ctx, o); err != nil {
		return err
	}
	if !e.seen.complete() {
		return errStillHeld
	}
	p, err := e.publication(ctx, o)
	if err != nil {
		return err
	}
	p.RemoveFinalizers = true
	p.Revision += " unhold"
	if err := c.publications.Serve(e.name, p); err != nil {
		return err
	}
	if left, known := c.publications.CountHeld(e.name); !known || left > 0 {
		return errStillHeld
	}
	return nil
}
