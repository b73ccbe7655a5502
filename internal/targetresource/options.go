package targetresource

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"k8s.io/client-go/util/workqueue"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
