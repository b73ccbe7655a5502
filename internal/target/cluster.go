package target

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// selector selects the resources that carry our label.
const selector = commonv1.LabelKeyManaged + "=" + commonv1.LabelValueManaged

// A Cluster is a connection to one cluster or kcp workspace with one set of credentials. Its methods may be called
// concurrently.
type Cluster struct {
	server  string
	address string // server as it may be shown

	credentials *credentials // what it was connected with, which its users share

	config  *rest.Config // only to make further clients of http
	http    *http.Client
	dynamic dynamic.Interface
	watches *informer.Set
	kinds   *kinds
	breaker *breaker

	tokens *identity.Keeper // nil if the configuration is enough to authenticate
	fails  *failures
	cancel context.CancelFunc

	// The Registry guards these: who uses it, and the keys of the ProviderConfigs it was ever reached through.
	users   map[informer.Owner]struct{}
	configs map[string]struct{}
}

// A change is what becomes of a cluster.
type change int

const (
	changeUp       change = iota // it answers, for the first time or again
	changeDown                   // it does not answer, from the start or any longer
	changeHealth                 // what health returns may have changed
	changeTokens                 // there is another token, or none
	changeRestored               // it has gone back in its history
)

// A listener hears of clusters.
type listener interface {
	wake(o informer.Owner) // something has changed for an owner
	changed(c *Cluster, what change)
}

// newCluster connects, and changes the REST configuration it is given.
func newCluster(a access, l listener) (_ *Cluster, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	c := &Cluster{
		cancel: cancel, fails: newFailures(l.wake),
		users: map[informer.Owner]struct{}{}, configs: map[string]struct{}{},
	}
	cfg := a.config
	host, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, errors.New("cannot parse the server of the kubeconfig")
	}
	c.server, c.address = host.String(), addressOf(host)
	health := func() { l.changed(c, changeHealth) }
	c.breaker = newBreaker(ctx, host.JoinPath("version").String(), func() {
		c.watches.Kick()
		l.changed(c, changeUp)
	}, func() { l.changed(c, changeDown) }, health)
	c.breaker.paths.base, c.breaker.paths.wildcard = strings.CutSuffix(host.Path, "*")
	if a.tokens != nil {
		c.tokens = identity.NewKeeper(a.route.forTokens(ctx), a.tokens,
			func() { c.watches.Kick(); l.changed(c, changeTokens) }, health)
	}
	cfg.QPS, cfg.Burst, cfg.RateLimiter = -1, 0, nil
	if c.http, err = a.client(c.wrappers(a.route)...); err != nil {
		return nil, err
	}
	if err := c.dial(ctx, a, l); err != nil {
		return nil, err
	}
	c.breaker.suspect()
	return c, nil
}

// wrappers returns what each request passes, in order, the innermost first.
func (c *Cluster) wrappers(r route) []transport.WrapperFunc {
	w := []transport.WrapperFunc{
		r.fence.Wrap, // Behind all that waits.
		r.wall(c.breaker.paths),
		c.breaker.wrap, // It counts what is read to check an answer.
	}
	if c.tokens != nil {
		w = append(w, c.tokens.Wrap) // In front of the breaker: that there is no token is not the target's fault.
	}
	return w
}

// dial makes the clients of the cluster, which share one of http.
func (c *Cluster) dial(ctx context.Context, a access, l listener) error {
	const cannot = "cannot make a client from the kubeconfig"
	var err error
	c.config = a.config
	if c.dynamic, err = dynamic.NewForConfigAndClient(a.config, c.http); err != nil {
		return errors.Wrap(err, cannot)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(a.config, c.http)
	if err != nil {
		return errors.Wrap(err, cannot)
	}
	m, err := metadata.NewForConfigAndClient(metadata.ConfigFor(a.config), c.http)
	if err != nil {
		return errors.Wrap(err, cannot)
	}
	c.watches = informer.NewSet(c.dynamic, informer.Options{
		Selector: selector, Metadata: m, Wake: l.wake, WentBack: func() { l.changed(c, changeRestored) },
		PageSize: a.route.page, MaxBytes: a.route.cache, Interner: a.interner,
	})
	// The stream of a kind that has gone and come back rests until it is told.
	c.kinds = newKinds(ctx, d.RESTClient(), func(o informer.Owner) { c.watches.Kick(); l.wake(o) })
	return nil
}

// Mapping returns how the cluster serves a kind. The error satisfies IsNoKind if it does not; the owner is then woken
// when it does.
func (c *Cluster) Mapping(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, error) {
	served, err := c.kinds.mappings(ctx, waiter{Owner: o}, gvk)
	if m, ok := served[gvk]; ok || err != nil {
		return m, err
	}
	return Mapping{}, noKindError{gvk: gvk}
}

// Mappings returns how the cluster serves each of the kinds an owner needs for a purpose. Kinds it does not serve are
// missing from the result; the owner is then woken when it does. They replace those of an earlier call.
func (c *Cluster) Mappings(
	ctx context.Context, o informer.Owner, p informer.Purpose, gvks ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	return c.kinds.mappings(ctx, waiter{Owner: o, purpose: p}, gvks...)
}

// FindKind returns how the cluster serves a kind in any version, and whether it does.
func (c *Cluster) FindKind(ctx context.Context, gk schema.GroupKind) (Mapping, bool, error) {
	return c.kinds.find(ctx, gk)
}

// InvalidateMapping forgets how the cluster serves a kind, because the cluster has answered as if it did not.
func (c *Cluster) InvalidateMapping(gvk schema.GroupVersionKind) { c.kinds.invalidate(gvk) }

// Resource returns a client of a resource, in a namespace unless that is empty.
func (c *Cluster) Resource(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.dynamic.Resource(r)
	}
	return c.dynamic.Resource(r).Namespace(namespace)
}

// Dynamic returns a client of the cluster.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

// AllClusters is the end of the URL of a virtual workspace of kcp that shows all its logical clusters.
const AllClusters = "/clusters/*"

// In returns a client of one logical cluster, by the same connection, for a cluster that is a virtual workspace of all
// of them.
func (c *Cluster) In(logical string) (dynamic.Interface, error) {
	cfg := rest.CopyConfig(c.config)
	cfg.Host = strings.TrimSuffix(cfg.Host, "*") + logical
	d, err := dynamic.NewForConfigAndClient(cfg, c.http)
	return d, errors.Wrapf(err, "cannot make a client of logical cluster %q", logical)
}

// Get returns a resource that an owner tracks, nil if it does not exist: from the watch or, if the cluster refuses
// that, by a request. The result is shared and must not be changed. The error satisfies informer.IsNotSynced as long as
// the watch has not begun.
func (c *Cluster) Get(ctx context.Context, o informer.Owner, i informer.Interest) (*unstructured.Unstructured, error) {
	u, err := c.watches.Get(ctx, o, i)
	if !informer.IsDenied(err) {
		return u, err
	}
	return c.Read(ctx, i)
}

// Read asks the cluster for a resource, and returns nil if it does not exist.
func (c *Cluster) Read(ctx context.Context, i informer.Interest) (*unstructured.Unstructured, error) {
	u, err := c.Resource(i.Resource, i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // That it does not exist is an answer.
	}
	return u, errors.Wrapf(err, "cannot get %s %q", i.Resource.GroupResource(),
		cache.NamespacedNameAsObjectName(i.NamespacedName))
}

// Server returns the URL of the cluster, or of the workspace if it is one.
func (c *Cluster) Server() string { return c.server }

// Watches returns the watches of the cluster.
func (c *Cluster) Watches() *informer.Set { return c.watches }

// Ready returns nil if the cluster answers and its identity gives a token, and an error that satisfies IsUnreachable or
// IsInvalidConnection if not.
func (c *Cluster) Ready(ctx context.Context) error {
	if err := c.breaker.ready(ctx); err != nil || c.tokens == nil {
		return err
	}
	return c.tokens.Ready(ctx)
}

// RetryAfter records that an owner has failed with an error at some kind of work, and returns for how long its retry
// should be put off. At first that is as long as it takes to spread the retries of many. If the target goes on to
// refuse it, it is tried again every few seconds; of owners that are refused alike at the same work one is in a second.
// The others are woken when one of them succeeds.
func (c *Cluster) RetryAfter(o informer.Owner, err error, work string) time.Duration {
	answer := answerOf(err)
	if answer != "" {
		answer += " " + work
	}
	return c.fails.retryAfter(o, answer)
}

// Succeeded records that an owner does not fail.
func (c *Cluster) Succeeded(o informer.Owner) { c.fails.succeeded(o) }

// forget ends all that an owner has on the cluster.
func (c *Cluster) forget(o informer.Owner) {
	c.watches.Forget(o)
	c.kinds.forget(o)
	c.fails.forget(o)
}

// close ends the connection.
func (c *Cluster) close() {
	c.cancel()
	c.watches.Close()
}
