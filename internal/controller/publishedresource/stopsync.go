package publishedresource

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// isToSync reports whether a PublishedResource has objects of consumers synced: that is to write on both sides, which
// policies that only allow to look forbid, and nothing is done for one that is paused, be it by its policies or by its
// annotation.
func isToSync(o *v1alpha1.PublishedResource) bool {
	return o.Spec.SyncEnabled() && policy.Writes(o.GetManagementPolicies()) && !meta.IsPaused(o)
}

// isSyncStopped reports whether no objects of consumers are to be synced.
func isSyncStopped(o *v1alpha1.PublishedResource) bool {
	return !isToSync(o) || meta.WasDeleted(o) && o.GetDeletionPolicy() != xpv2.DeletionDelete
}

// stopSync ends the synchronization of a PublishedResource that is to have none, before anything is asked of anybody:
// it has to end also if kcp or the source is out of reach. What cannot be read is told of by the pass that follows.
func (c *connector) stopSync(ctx context.Context, n types.NamespacedName) {
	o := &v1alpha1.PublishedResource{}
	if err := c.local.Get(ctx, n, o); err == nil && isSyncStopped(o) && !mustRemoveFinalizers(o) {
		c.publications.Stop(n.Name)
	}
}
