package providerconfig

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// retryAfter is when a ProviderConfig is tried again that cannot be used, if nothing wakes it before.
const retryAfter = time.Minute

// connect makes a ProviderConfig a user of its own target, and has the target judge the credentials unless others use
// them or it has accepted them before. Its errors are those of clusters.Registry.Connect and
// clusters.Cluster.TryCredentials.
func (r *readiness) connect(ctx context.Context, key client.ObjectKey) error {
	o := informer.Owner{Controller: r.controller, NamespacedName: key}
	pc := r.config.New()
	err := r.client.Get(ctx, key, pc)
	switch {
	case apierrors.IsNotFound(err):
		r.registry.Forget(o)
		return nil
	case err != nil:
		return errors.Wrap(err, "cannot get ProviderConfig")
	case meta.WasDeleted(pc):
		return nil // Its users know what they need of it.
	}
	r.registry.Bind(o, r.config.Key(pc))
	c, err := r.registry.Connect(ctx, o, r.described(pc))
	if err != nil || pc.GetUsers() > 0 {
		return err
	}
	return c.TryCredentials(ctx)
}

// described returns what a ProviderConfig says. A ServiceAccount of the namespace of each user is left out if the
// ProviderConfig has no namespace: it is tried as whom its credentials say.
func (r *readiness) described(pc resource.ProviderConfig) commonv1.Connection {
	c := r.config.Connection(pc)
	if i := c.Spec.Impersonate; i != nil && i.ServiceAccountName != "" && c.Shared != nil {
		c.Spec = c.Spec.DeepCopy()
		c.Spec.Impersonate = nil
	}
	return c
}

// health returns what is known of the targets of a ProviderConfig, given the error of connect. It is not known while it
// is too early to tell.
func (r *readiness) health(pc resource.ProviderConfig, err error) clusters.Health {
	h := r.registry.Health(r.config.Key(pc))
	switch {
	case err == nil || h.Err != nil:
	case !clusters.IsUnreachable(err) &&
		(h.Known || apierrors.IsConflict(err) || errors.Is(err, clusters.ErrUnauthorized)):
		h.Known = false
	default:
		h.Err = err
	}
	return h
}
