package targetresource

import (
	"context"

	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// A Config is the ProviderConfig that an owner refers to.
type Config struct {
	// Key is its name as scope.Config makes it.
	Key string
	// Read returns what it says. The cause of its error is scope.ErrNoConfig if it does not exist.
	Read func(context.Context) (commonv1.Connection, error)
	// Ends says that the owner is deleted together with it. Its credentials may go first then, and those of the last
	// connection will do.
	Ends bool
}

// Connect returns the cluster of a ProviderConfig. The owner is woken when the ProviderConfig or what it names changes.
func Connect(ctx context.Context, r *target.Registry, o informer.Owner, c Config) (*target.Cluster, error) {
	r.Bind(o, c.Key)
	connection, err := c.Read(ctx)
	if errors.Is(err, scope.ErrNoConfig) {
		r.Release(o)
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot use ProviderConfig")
	}
	connect := r.Connect
	if c.Ends {
		connect = r.Reconnect
	}
	cluster, err := connect(ctx, o, connection)
	return cluster, errors.Wrap(err, "cannot connect to target")
}
