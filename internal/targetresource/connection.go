package targetresource

import (
	"cmp"
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
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
	Registry *clusters.Registry
	// PollJitter is the fraction of the poll interval by which it varies.
	PollJitter float64
}

// OfFew returns the options for a kind of which there are few: a tenth of the workers. Each idle one is a stack that
// every collection of garbage looks at.
func (o Options) OfFew() Options {
	o.MaxConcurrentReconciles = max(1, o.MaxConcurrentReconciles/10)
	return o
}

// Retrying returns the options of a controller for controller-runtime, such that what fails is tried again soon.
func Retrying(o Options) ctrlcontroller.Options {
	opts := o.ForControllerRuntime()
	opts.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, RetryMax)
	return opts
}

// Sharing returns the options of Retrying for a controller whose reconciles wait for targets. It reconciles
// MaxConcurrentReconciles resources of each target at a time, and those of all targets take turns. For one target, what
// is new, changed or deleted takes turns with all other resources. After a start these may be thousands. blank returns
// an empty resource, and config the key of the ProviderConfig of one.
func Sharing[T client.Object](o Options, local client.Reader, blank func() T,
	config func(T) string,
) ctrlcontroller.Options {
	opts := Retrying(o)
	opts.MaxConcurrentReconciles = fairqueue.Shares * max(1, o.MaxConcurrentReconciles)
	flowOf := func(r reconcile.Request) (flow fairqueue.Flow, urgent bool) {
		obj, name := blank(), ""
		// What has gone from the cache has a flow of its own.
		if err := local.Get(context.Background(), r.NamespacedName, obj, client.UnsafeDisableDeepCopy); err == nil {
			name = config(obj)
		}
		return fairqueue.Flow{Tenant: cmp.Or(r.Namespace, name), Name: name}, isChanged(obj)
	}
	opts.NewQueue = fairqueue.ForController(opts.MaxConcurrentReconciles, flowOf)
	return opts
}

// isChanged reports whether no reconcile has told of the present generation of a resource, or of its deletion.
func isChanged(o client.Object) bool {
	c, ok := o.(resource.Conditioned)
	return meta.WasDeleted(o) || ok && c.GetCondition(xpv2.TypeSynced).ObservedGeneration != o.GetGeneration()
}

// A Config is the ProviderConfig that an owner refers to.
type Config struct {
	// Key is its name as scope.Config makes it.
	Key string
	// Read returns what it says. The cause of its error is scope.ErrNoConfig if it does not exist.
	Read func(context.Context) (commonv1.Connection, error)
	// Ends reports whether the owner is deleted together with it, as when their namespace is. Its credentials may go first
	// then, and those of the last connection will do. Nil if it never is.
	Ends func(context.Context) bool
	// Visits says that the owner is in the slot of this replica although its ProviderConfig may not be.
	Visits bool
}

// ConfigOf returns the ProviderConfig that a resource of a kind refers to.
func ConfigOf[T client.Object](k scope.Kind[T], o T) Config {
	return Config{
		Key:  k.Key(o),
		Read: func(ctx context.Context) (commonv1.Connection, error) { return k.Config(ctx, o) },
		Ends: func(ctx context.Context) bool {
			if !meta.WasDeleted(o) {
				return false
			}
			leaving, err := k.Leaving(ctx, o)
			return err == nil && leaving
		},
	}
}

// Connect returns the cluster of a ProviderConfig. The owner is woken when the ProviderConfig or what it names changes.
// The error is a conflict if the ProviderConfig is in the slot of another replica.
func Connect(ctx context.Context, r *clusters.Registry, o informer.Owner, c Config) (*clusters.Cluster, error) {
	if !c.Visits && !r.Slots().Responsible(c.Key) {
		return nil, apierrors.NewConflict(schema.GroupResource{}, c.Key, errors.New("another replica reconciles the shard "+
			"of this ProviderConfig"))
	}
	r.Bind(o, c.Key)
	connection, err := c.Read(ctx)
	if errors.Is(err, scope.ErrNoConfig) {
		r.Release(o)
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot use ProviderConfig")
	}
	connect := r.Connect
	if c.Ends != nil && c.Ends(ctx) {
		connect = r.Reconnect
	}
	cluster, err := connect(ctx, o, connection)
	if clusters.IsUnreachable(err) {
		err = Awaited(err)
	}
	return cluster, errors.Wrap(err, "cannot connect to target")
}

// Admit returns an error if the ProviderConfig does not allow the namespace of an owner, or if it is too early to tell.
// Of one that does not exist nothing is known. The owner is woken when this changes.
func Admit(ctx context.Context, r *clusters.Registry, o informer.Owner, c Config) error {
	r.Bind(o, c.Key)
	connection, err := c.Read(ctx)
	if err == nil {
		err = r.Admit(ctx, o, connection)
	}
	if errors.Is(err, scope.ErrNoConfig) {
		return nil
	}
	return errors.Wrap(err, "cannot use ProviderConfig")
}
