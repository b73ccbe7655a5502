package targetresource

import (
	"cmp"
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

const (
	// retryFirst is the pause before what has failed is tried again. It doubles each time.
	retryFirst = 250 * time.Millisecond
	// RetryMax is the longest such pause.
	RetryMax = 2 * time.Second
)

// Options of a controller that connects to targets, beside those all controllers have.
type Options struct {
	controller.Options

	// Registry connects to the targets.
	Registry *target.Registry
	// PollJitter is the fraction of the poll interval by which it varies.
	PollJitter float64
}

// Retrying returns the options of a controller for controller-runtime, such that what fails is tried again soon.
func Retrying(o controller.Options) ctrlcontroller.Options {
	opts := o.ForControllerRuntime()
	opts.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, RetryMax)
	return opts
}

// Sharing returns the options of Retrying for a controller whose reconciles wait for targets. It reconciles
// MaxConcurrentReconciles resources of each target at a time, and those of all targets take turns. blank returns an
// empty resource, and config the key of the ProviderConfig of one.
func Sharing[T client.Object](o controller.Options, local client.Reader, blank func() T,
	config func(T) string,
) ctrlcontroller.Options {
	opts := Retrying(o)
	opts.MaxConcurrentReconciles = fairqueue.Shares * max(1, o.MaxConcurrentReconciles)
	opts.NewQueue = fairqueue.ForController(opts.MaxConcurrentReconciles, func(r reconcile.Request) fairqueue.Lane {
		obj, name := blank(), ""
		// What has gone from the cache has a lane of its own.
		if err := local.Get(context.Background(), r.NamespacedName, obj, client.UnsafeDisableDeepCopy); err == nil {
			name = config(obj)
		}
		return fairqueue.Lane{Tenant: cmp.Or(r.Namespace, name), Name: name}
	})
	return opts
}
