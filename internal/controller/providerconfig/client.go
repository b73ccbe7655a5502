package providerconfig

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
)

// A countingManager is the manager of crossplane-runtime's reconciler, which lists the records of use to count them and
// changes none: its client lists without copies.
type countingManager struct{ managedadapter.Manager }

// GetClient returns a quiet client that lists without copies.
func (m countingManager) GetClient() client.Client { return countingClient{m.Manager.GetClient()} }

type countingClient struct{ client.Client }

// List lists what the cache holds, which must not be changed.
func (c countingClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
}
