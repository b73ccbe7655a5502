package clusters

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// outagePatience is how long a target may not answer until its users say so.
	outagePatience = 10 * time.Second
	// outageRate is how many users of targets that do not answer are woken in a second, of all targets together: each
	// of them writes to the control plane.
	outageRate = 50
)

// ErrUnauthorized means that a target does not accept the credentials of a ProviderConfig.
var ErrUnauthorized = errors.New("target does not accept the credentials: " +
	"renew the Secret, or other source, that the ProviderConfig names")

// A Health is what is known of the targets of a ProviderConfig.
type Health struct {
	// Err satisfies IsUnreachable or IsInvalidConnection, or is ErrUnauthorized. It is nil if nothing is known to be
	// wrong.
	Err error
	// Known reports whether each target in use has been asked, and at least one is in use. Without it a nil Err says
	// nothing.
	Known bool
	// Server is the URL of the target, empty while nothing is connected.
	Server string
	// Version is the version of Kubernetes that the target reported last, empty if it has not.
	Version string
}

// Health returns what is known of the targets of the ProviderConfig of a key. It may have several, as kcp names the
// addresses of virtual workspaces.
func (r *Registry) Health(key string) Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	clusters, invalid := map[*Cluster]struct{}{}, error(nil)
	for o := range r.configs[key] {
		if c := r.uses[o].cluster; c != nil {
			clusters[c] = struct{}{}
		}
		invalid = firstError(invalid, r.uses[o].invalid)
	}
	h := Health{Known: len(clusters) > 0}
	for c := range clusters {
		s := c.breaker.look()
		h.Known = h.Known && s.isKnown()
		h.Err = firstError(h.Err, c.health())
		if c.credentials.endpoint == "" { // Else it is an address that the target has named.
			h.Server, h.Version = c.server, s.version
		}
	}
	if !h.Known && h.Err == nil {
		h.Err = invalid // One owner without credentials, such as those of its namespace, does not speak for all.
	}
	return h
}

// firstError returns the error whose text comes first, so that of several the same is shown each time.
func firstError(a, b error) error {
	if a == nil || b != nil && b.Error() < a.Error() {
		return b
	}
	return a
}

// health returns why the cluster cannot be used, nil if nothing is known to be wrong.
func (c *Cluster) health() error {
	s := c.breaker.look()
	switch {
	case s.err != nil && s.isKnown():
		return s.err
	case c.tokens != nil && c.tokens.Failure() != nil:
		return c.tokens.Failure()
	case s.refused:
		return ErrUnauthorized
	}
	return nil
}

// TryCredentials sends a request with the credentials, which the probes of a connection have not, unless the target has
// accepted them before. The error is ErrUnauthorized if it does not accept them, and satisfies IsUnreachable if it does
// not answer within 3 s.
func (c *Cluster) TryCredentials(ctx context.Context) error {
	if s := c.breaker.look(); s.accepted && !s.refused {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, unreachableError{cause: errSlow})
	defer cancel()
	err := c.kinds.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	switch {
	case apierrors.IsUnauthorized(err):
		return ErrUnauthorized
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case IsUnreachable(err), IsInvalidConnection(err), apierrors.IsConflict(err):
		return err
	}
	return nil // Any other answer will do.
}

// tell wakes the ProviderConfig of a key, as what Health returns for it may have changed. The caller holds the lock.
func (r *Registry) tell(key string) {
	kind, n := nameIn(key)
	if enqueue, ok := r.sinks[kind]; ok {
		enqueue(n)
	}
}

// nameIn returns the kind and the name of the ProviderConfig of a key.
func nameIn(key string) (kind string, n types.NamespacedName) {
	kind, id, _ := strings.Cut(key, "/")
	n.Namespace, n.Name, _ = strings.Cut(id, "/")
	return kind, n
}

// WakeOwner wakes one owner.
func (r *Registry) WakeOwner(o informer.Owner) {
	r.mu.Lock()
	enqueue, ok := r.sinks[o.Controller]
	r.mu.Unlock()
	if ok {
		enqueue(o.NamespacedName)
	}
}

// tellHealth wakes the ProviderConfigs of a cluster, whose health may have changed, and returns its users.
func (r *Registry) tellHealth(c *Cluster) (owners []informer.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	configs := map[string]struct{}{}
	for o := range c.users {
		owners = append(owners, o)
		configs[r.uses[o].config] = struct{}{}
	}
	for key := range configs {
		r.tell(key)
	}
	return owners
}

// tellOutage reports that a cluster does not answer: to its ProviderConfigs, and to its users, one after the other, if
// that lasts.
func (r *Registry) tellOutage(c *Cluster) {
	r.tellHealth(c)
	since := c.breaker.look().since
	time.AfterFunc(time.Until(since.Add(outagePatience)), func() {
		for _, o := range r.tellHealth(c) {
			s := c.breaker.look()
			if s.err == nil || !s.since.Equal(since) || r.outages.Wait(c.breaker.ctx) != nil {
				return
			}
			r.WakeOwner(o)
		}
	})
}

var (
	readyConfigs = prometheus.NewDesc("provider_kcp_providerconfig_ready",
		"Whether the target of a ProviderConfig answers and accepts its credentials.",
		[]string{"kind", "namespace", "name"}, nil)
	restores = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "provider_kcp_restored_servers_total",
		Help: "How often the resourceVersion of a server decreased, as after a restore from a backup, by what the " +
			"server is.",
	}, []string{"server"})
	// Made at once, as zero is there to be seen.
	restoredTargets, restoredControlPlanes = restores.WithLabelValues("target"), restores.WithLabelValues("control-plane")
	unreadable                             = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "provider_kcp_unreadable_resources_total",
		Help: "How often a server showed a resource that is too deep or too large to be read.",
	})
)

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(restores, unreadable)
}

// Metrics returns a collector of the health of all ProviderConfigs. It computes the series on each scrape, so
// that none outlives its ProviderConfig.
func (r *Registry) Metrics() prometheus.Collector {
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		r.mu.Lock()
		used := slices.Collect(maps.Keys(r.configs))
		r.mu.Unlock()
		for _, key := range used {
			health, ready := r.Health(key), 0.0
			if health.Err == nil && !health.Known || !r.options.Slots.Responsible(key) {
				continue
			}
			if health.Err == nil {
				ready = 1
			}
			kind, n := nameIn(key)
			ch <- prometheus.MustNewConstMetric(readyConfigs, prometheus.GaugeValue, ready, kind, n.Namespace, n.Name)
		}
	})
}

// CountRestoredControlPlane counts that caches of the control plane have noticed a restore. The connections of a
// Registry count themselves.
func CountRestoredControlPlane() { restoredControlPlanes.Inc() }

const (
	// retryFirst and retryMost bound the pause before an owner that fails is tried again. It doubles each time.
	retryFirst = 200 * time.Millisecond
	retryMost  = time.Minute
	// retryRate is how many owners of a namespace are tried again in a second, and retryBurst how many at once.
	retryRate  = 10
	retryBurst = 100
)

// newRetries returns what says when owners that fail on a target are tried again. It is the default limiter of
// controller-runtime, with a bucket for each namespace: no tenant puts off what is another's.
func newRetries() workqueue.TypedRateLimiter[informer.Owner] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[informer.Owner](retryFirst, retryMost), &buckets{})
}

// buckets are the token buckets of owners by namespace.
type buckets struct{ sync.Map }

// When returns when the bucket of an owner has a token.
func (b *buckets) When(o informer.Owner) time.Duration {
	bucket, _ := b.LoadOrStore(o.Namespace, rate.NewLimiter(retryRate, retryBurst))
	return bucket.(*rate.Limiter).Reserve().Delay() //nolint:forcetypeassert // There is nothing else in it.
}

// Forget changes no bucket.
func (*buckets) Forget(informer.Owner) {}

// NumRequeues counts none.
func (*buckets) NumRequeues(informer.Owner) int { return 0 }
