package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// sights are all that a reconcile of an Object depends on if it reads nothing but watches. The same sights lead to the
// same result.
type sights struct {
	version       string // of the Object
	cluster       *clusters.Cluster
	local, remote uint64 // what the watches of the control plane and of the cluster show
}

// settled is what a reconcile saw that found the Object well and wrote nothing.
type settled struct {
	sights

	poll reconcile.Result // which crossplane-runtime asked for
}

// sights returns what the reconcile of an Object sees, nil if it sees more than watches show.
func (c *reconciler[T]) sights(o Object, cluster *clusters.Cluster) *sights {
	owner := c.owner(client.ObjectKeyFromObject(o))
	local, ok := c.registry.Local().Watches().Sight(owner)
	remote, too := cluster.Watches().Sight(owner)
	if !ok || !too {
		return nil
	}
	return &sights{version: o.GetResourceVersion(), cluster: cluster, local: local, remote: remote}
}

// settles remembers an Object that is settled. What a reconcile has seen last must be what it has seen first: what
// changes meanwhile is looked at again.
func (c *reconciler[T]) settles(n types.NamespacedName, p *reconciliation, poll reconcile.Result) {
	if p.before == nil || p.object == nil || !p.isSettled() {
		return
	}
	if now := c.sights(p.object, p.target.Cluster); now != nil && *now == *p.before {
		c.settled.Store(n, settled{sights: *now, poll: poll})
	}
}

// isSettled reports whether all is well with the Object, which depends on nothing that is not watched.
func (r *reconciliation) isSettled() bool {
	o := r.object
	return r.verdict != nil && r.verdict.Ready && r.synced == nil && r.target.Mapping.Watchable && !meta.WasDeleted(o) &&
		len(o.Desired().References) == 0 && len(o.Desired().ConnectionDetails) == 0 && !previews(o)
}

// rests reports whether an Object is settled and depends on nothing that has changed, and when to look again.
func (c *reconciler[T]) rests(ctx context.Context, n types.NamespacedName) (reconcile.Result, bool) {
	known, ok := c.settled.Load(n)
	if !ok {
		return reconcile.Result{}, false
	}
	last, o := known.(settled), c.kind.New() //nolint:forcetypeassert // There is nothing else.
	if c.cache.Get(ctx, n, o, client.UnsafeDisableDeepCopy) != nil || o.GetResourceVersion() != last.version {
		return reconcile.Result{}, false
	}
	cluster, err := c.connect(ctx, c.owner(n), o, false)
	if err != nil {
		return reconcile.Result{}, false
	}
	now := c.sights(o, cluster)
	return last.poll, now != nil && *now == last.sights
}
