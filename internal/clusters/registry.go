package clusters

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/serviceaccount"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
)

// A Registry hands out connections to clusters, one per set of credentials, and knows who uses which. Its methods may
// be called concurrently.
type Registry struct {
	options Options
	routes  map[identity.Writer]route
	local   *Cluster
	outages *rate.Limiter // paces who is woken because of them

	mu       sync.Mutex
	sinks    map[string]func(types.NamespacedName) // by controller
	clusters map[string]*Cluster                   // by digest
	uses     map[informer.Owner]use
	configs  map[string]map[informer.Owner]struct{} // by the key of a ProviderConfig
}

// A use is what one owner has of the Registry.
type use struct {
	config  string // the key of its ProviderConfig, empty for none
	cluster *Cluster
	last    *credentials // of the last cluster, kept when that is given up
	invalid error        // why there is no cluster, nil if there is one
	known   bool         // the ProviderConfig has been told of these
}

// NewRegistry returns a Registry that is connected to the control plane only. Close ends all of its connections.
func NewRegistry(o Options) (*Registry, error) {
	r := &Registry{
		options:  o,
		routes:   newRoutes(o.Addresses, o.Fence),
		outages:  rate.NewLimiter(outageRate, 1),
		sinks:    map[string]func(types.NamespacedName){},
		clusters: map[string]*Cluster{},
		uses:     map[informer.Owner]use{},
		configs:  map[string]map[informer.Owner]struct{}{},
	}
	cfg := rest.CopyConfig(o.Injected)
	cfg.UserAgent = o.UserAgent
	var err error
	r.local, err = newCluster(access{config: cfg, route: r.routes[identity.WriterOperator]}, r)
	return r, errors.Wrap(err, "cannot connect to the control plane")
}

// OnChange says how to wake the objects of a controller, or the ProviderConfigs of a kind when what Health returns for
// them may have changed: enqueue must add one to the controller's queue, and must neither block nor call the Registry.
func (r *Registry) OnChange(controller string, enqueue func(types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sinks[controller] = enqueue
}

// Bind records that an owner's connection is described by the ProviderConfig of a key, whether that exists or not. The
// owner is woken by Wake with that key.
func (r *Registry) Bind(o informer.Owner, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.uses[o]
	if u.config == key {
		return
	}
	r.unbind(o)
	r.uses[o] = use{config: key, cluster: u.cluster}
	if r.configs[key] == nil {
		r.configs[key] = map[informer.Owner]struct{}{}
	}
	r.configs[key][o] = struct{}{}
}

// unbind takes an owner off its ProviderConfig. The caller holds the lock.
func (r *Registry) unbind(o informer.Owner) {
	key := r.uses[o].config
	delete(r.configs[key], o)
	if len(r.configs[key]) == 0 {
		delete(r.configs, key)
	}
}

// Connect returns the cluster a ProviderConfig describes, as the owner is to see it: an owner's namespace may decide
// whom to impersonate. The owner is woken when the credentials change, when the cluster has not answered for 10 s, and
// when it answers again. Errors satisfy IsNamespaceNotAllowed, IsInvalidConnection, IsUnreachable, or are conflicts
// while it is too early to tell.
func (r *Registry) Connect(ctx context.Context, o informer.Owner, described commonv1.Connection) (*Cluster, error) {
	creds, err := r.credentials(ctx, o, described)
	return r.join(ctx, o, creds, err)
}

// ErrNotHere is the error of Check about credentials in the environment or the file system of the provider, which
// another process cannot see.
var ErrNotHere = errors.New("credentials are in the environment or the file system of the provider")

// Check returns the error that Connect would return about the credentials of a ProviderConfig, with options that are
// changed first. It asks for Secrets, makes no connection to the target, and mints no token. Errors are those of
// Connect, and ErrNotHere.
func (r *Registry) Check(ctx context.Context, described commonv1.Connection, with ...func(*Options)) error {
	options := r.options
	for _, set := range with {
		set(&options)
	}
	if err := options.admit(described); err != nil {
		return invalidConnectionError{err}
	}
	if notHere(described.Spec.Credentials) || described.Spec.Identity != nil &&
		notHere(described.Spec.Identity.ProviderCredentials) {
		return ErrNotHere
	}
	creds, err := options.resolve(ctx, described, reader{
		namespace: described.Tenant, tenant: described.Tenant, get: r.local.Read,
	})
	if err != nil {
		return err
	}
	if _, err := options.access(creds); err != nil {
		return invalidConnectionError{err}
	}
	return nil
}

func notHere(p commonv1.ProviderCredentials) bool {
	return p.Source == xpv2.CredentialsSourceEnvironment || p.Source == xpv2.CredentialsSourceFilesystem
}

// Reconnect is Connect for an owner that is going together with its credentials: if those are gone first, the ones it
// was connected with last will do.
func (r *Registry) Reconnect(ctx context.Context, o informer.Owner, described commonv1.Connection) (*Cluster, error) {
	creds, err := r.credentials(ctx, o, described)
	r.mu.Lock()
	last := r.uses[o].last
	r.mu.Unlock()
	if IsInvalidConnection(err) && last != nil {
		creds, err = *last, nil
	}
	return r.join(ctx, o, creds, err)
}

// join makes an owner a user of the cluster of credentials, if they could be read.
func (r *Registry) join(ctx context.Context, o informer.Owner, creds credentials, err error) (*Cluster, error) {
	digest := creds.digest()
	r.mu.Lock()
	var c *Cluster
	if err == nil {
		c, err = r.cluster(digest, creds, o.Namespace)
	}
	switch {
	case err == nil || IsInvalidConnection(err):
		r.use(o, c, err)
	case IsNamespaceNotAllowed(err):
		r.use(o, nil, nil) // Of the ProviderConfig it tells nothing.
	}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c, c.Ready(ctx)
}

// probesOf returns what limits the probes of a new cluster, which those of its place share. The caller holds the lock.
func (r *Registry) probesOf(c *Cluster) *rate.Limiter {
	for _, other := range r.clusters {
		if other.address == c.address {
			return other.breaker.probes
		}
	}
	return c.breaker.probes
}

// cluster returns the cluster of credentials, connected for a tenant if need be. The caller holds the lock.
func (r *Registry) cluster(digest string, creds credentials, tenant string) (*Cluster, error) {
	if c, ok := r.clusters[digest]; ok {
		return c, nil
	}
	a, err := r.options.access(creds)
	if err != nil {
		return nil, invalidConnectionError{err}
	}
	if account := creds.kubeconfig.account; account.Name != "" {
		a.tokens = serviceaccount.New(r.local.Dynamic(), account)
	}
	a.route, a.tenant = r.routes[creds.writer], tenant
	c, err := newCluster(a, r)
	if err != nil {
		return nil, invalidConnectionError{err}
	}
	c.credentials = &creds
	r.clusters[digest] = c
	return c, nil
}

// newCluster connects, and changes the REST configuration it is given.
func newCluster(a access, r *Registry) (_ *Cluster, err error) {
	host, _, err := rest.DefaultServerUrlFor(a.config)
	if err != nil {
		return nil, errors.New("cannot parse the server of the kubeconfig")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	c := &Cluster{
		retries: newRetries(), users: map[informer.Owner]struct{}{}, server: addressOf(host), config: a.config,
		cancel: cancel,
	}
	health := func() { r.tellHealth(c) }
	usable := func() {
		c.watches.Kick()
		for _, o := range r.tellHealth(c) {
			r.WakeOwner(o)
		}
	}
	c.replace = func() {
		r.mu.Lock()
		r.drop(c)
		r.mu.Unlock()
		usable() // Its users connect anew.
	}
	c.breaker = newBreaker(ctx, host, usable, func() { r.tellOutage(c) }, health)
	c.address = host.Host + " of " + a.tenant
	c.breaker.probes = r.probesOf(c)
	// Each client copies the configuration, and so shares its limiter. There is none.
	a.config.QPS, a.config.Burst, a.config.RateLimiter = -1, 0, nil
	a.config.Wrap(limitHeaders)
	a.config.Wrap(a.route.fence.Wrap) // Behind all that waits.
	a.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.breaker.next = a.route.responseGuard(c.breaker.paths, next)
		return c.breaker
	})
	if a.tokens != nil {
		c.tokens = identity.NewKeeper(a.route.forTokens(ctx), a.tokens, func() {
			if health(); c.tokens.Failure() == nil {
				usable()
			}
		})
		a.config.Wrap(c.tokens.Wrap) // In front of the breaker: that there is no token is not the target's fault.
	}
	if err := c.dial(ctx, a.route, r); err != nil {
		return nil, errors.Wrap(err, "cannot create a client from the kubeconfig")
	}
	c.breaker.startProbing()
	return c, nil
}

// dial makes the clients of the cluster, which share one of http.
func (c *Cluster) dial(ctx context.Context, way route, r *Registry) (err error) {
	if c.http, err = way.client(c.config); err != nil {
		return err
	}
	var m metadata.Interface
	var errs [3]error
	c.dynamic, errs[0] = dynamic.NewForConfigAndClient(c.config, c.http)
	c.discovery, errs[1] = discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	m, errs[2] = metadata.NewForConfigAndClient(metadata.ConfigFor(c.config), c.http)
	if err := kerrors.NewAggregate(errs[:]); err != nil {
		return err
	}
	c.watches = informer.NewSet(c.dynamic, informer.Options{
		Selector: selector, Metadata: m, Wake: r.WakeOwner, IsSame: c.isSame, PageSize: way.page,
		WentBack: func() {
			if c != r.local { // Of the control plane its informers tell.
				restoredTargets.Inc()
			}
		},
	})
	c.kinds = &kinds{
		client: c.discovery.RESTClient(), life: ctx,
		served: map[schema.GroupVersionKind]Mapping{}, unserved: cache.NewExpiring(),
	}
	return nil
}

// use records which cluster an owner uses from now on, nil for none, and why there is none. It closes the cluster that
// the owner has used if that has no other user, and tells the ProviderConfig of news. The caller holds the lock.
func (r *Registry) use(o informer.Owner, c *Cluster, invalid error) {
	u := r.uses[o]
	was := u
	if left := was.cluster; left != nil && left != c {
		left.forget(o)
		delete(left.users, o)
		if len(left.users) == 0 {
			r.drop(left)
		}
	}
	if c != nil {
		c.users[o] = struct{}{}
		u.last = c.credentials
	}
	u.cluster, u.invalid, u.known = c, invalid, true
	r.uses[o] = u
	if was.cluster == nil && was.invalid == nil && c != nil && c.health() == nil {
		return // New users, who come in crowds, change nothing if all is well.
	}
	if !was.known || was.cluster != c || fmt.Sprint(was.invalid) != fmt.Sprint(invalid) {
		r.tell(u.config)
	}
}

// drop ends a connection. The caller holds the lock.
func (r *Registry) drop(c *Cluster) {
	if digest := c.credentials.digest(); r.clusters[digest] == c {
		delete(r.clusters, digest)
	}
	c.close()
}

// Wake wakes all owners bound to a ProviderConfig.
func (r *Registry) Wake(key string) {
	r.mu.Lock()
	owners := slices.Collect(maps.Keys(r.configs[key]))
	r.mu.Unlock()
	for _, o := range owners {
		r.WakeOwner(o)
	}
}

// Slots returns how the work is shared among replicas, nil if it is not.
func (r *Registry) Slots() *slot.Slots { return r.options.Slots }

// Local returns the control plane. What an owner has of it ends with Forget.
func (r *Registry) Local() *Cluster { return r.local }

// Release gives up the cluster an owner uses, because it has no valid connection any more.
func (r *Registry) Release(o informer.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(o, nil, nil)
}

// Forget ends all that an owner has.
func (r *Registry) Forget(o informer.Owner) {
	r.local.forget(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(o, nil, nil)
	r.unbind(o)
	delete(r.uses, o)
}

// Close ends all connections.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clusters {
		c.close()
	}
	r.local.close()
}
