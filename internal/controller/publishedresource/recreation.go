package publishedresource

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// checkRecreation returns an error if what has been published before is gone because its workspace is being deleted:
// kcp lets it be made again, and could never finish. Nothing is asked of kcp while what has been published is there.
func (e *external) checkRecreation(ctx context.Context, o *v1alpha1.PublishedResource) error {
	before := o.Status.ResourceSchemaName
	if before == "" || e.state.export != nil && (e.desiredAPI.schema != before || e.state.hasSchema(before)) {
		return nil
	}
	workspace, err := e.cluster.Resource(kcp.LogicalClusters, "").Get(ctx, kcp.LogicalCluster, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), target.IsUnserved(err):
		return nil // Without the right to look, the only way is to try.
	case err != nil:
		return errors.Wrap(err, "cannot find out whether the workspace is being deleted")
	case workspace.GetDeletionTimestamp() != nil:
		return errors.Wrap(errWorkspaceDeleted, "cannot publish the API again")
	}
	return nil
}
