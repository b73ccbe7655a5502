package providerconfig

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// restoredTimeout bounds how long a ProviderConfig is looked for that an event is about.
const restoredTimeout = 30 * time.Second

// Restored records on each ProviderConfig of a restored target that it has been.
func (c *Controller) Restored(r clusters.Restored) {
	go func() { // The caller does not wait for the cache.
		ctx, cancel := context.WithTimeout(context.Background(), restoredTimeout)
		defer cancel()
		for _, key := range r.Configs {
			name, ok := c.guard.config.Named(key)
			pc := c.guard.config.New()
			if !ok || c.guard.client.Get(ctx, name, pc) != nil {
				continue // It is of another kind, or has gone.
			}
			c.events.Event(pc, event.Warning(commonv1.ReasonTargetRestored, restoredError(r.Server)))
		}
	}()
}

// restoredError says what has happened to a target.
func restoredError(server string) error {
	return errors.Errorf("resourceVersion of target %s decreased (restored from a backup?): "+
		"all resources there are compared again", server)
}
