package target

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/fence"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// Options of a Registry.
type Options struct {
	// Injected is how the provider reaches the cluster it runs in: the control plane, and the target of
	// InjectedIdentity.
	Injected *rest.Config
	// UserAgent is sent to every target.
	UserAgent string
	// AllowExec lets kubeconfigs from Secrets run credential plugins in the provider.
	AllowExec bool
	// AllowCrossNamespace lets namespaced ProviderConfigs name Secrets of other namespaces.
	AllowCrossNamespace bool
	// AllowProviderCredentials lets namespaced ProviderConfigs use what is the provider's own: credentials in its
	// environment, its file system and its ServiceAccount, and files that identities name.
	AllowProviderCredentials bool
	// Addresses limits what namespaced ProviderConfigs may point at, unless AllowProviderCredentials is set.
	Addresses Addresses
	// Fence stands between all connections and their servers. Nil for none.
	Fence *fence.Fence
}

// A Registry hands out connections to clusters, one per set of credentials, and knows who uses which. Its methods may
// be called concurrently.
type Registry struct {
	options Options
	routes  map[identity.Writer]route
	local   *Cluster
	// Connections of many users to one cluster hold the same resources.
	interner *informer.Interner

	mu       sync.Mutex
	sinks    map[string]func(types.NamespacedName)
	clusters map[string]*Cluster // by digest
	uses     map[informer.Owner]use
	configs  map[string]map[informer.Owner]struct{} // by the key of a ProviderConfig
	restored []func(Restored)
	health   []func(key string, well bool)
	patient  map[string]struct{} // controllers
	outages  *rate.Limiter       // paces who is woken because of them
}

// A use is what one owner has of the Registry.
type use struct {
	config  string
	digest  string
	cluster *Cluster
	last    *credentials // what cluster was connected with, kept when that is given up
	invalid error        // why there is no cluster, nil if there is one
}

// NewRegistry returns a Registry that is connected to the control plane only. Close ends all of its connections.
func NewRegistry(o Options) (*Registry, error) {
	r := &Registry{
		options:  o,
		interner: informer.NewInterner(),
		routes:   newRoutes(o.Addresses, o.Fence),
		sinks:    map[string]func(types.NamespacedName){},
		clusters: map[string]*Cluster{},
		uses:     map[informer.Owner]use{},
		configs:  map[string]map[informer.Owner]struct{}{},
		patient:  map[string]struct{}{},
		outages:  rate.NewLimiter(outageRate, 1),
	}
	cfg := rest.CopyConfig(o.Injected)
	cfg.UserAgent = o.UserAgent
	var err error
	r.local, err = newCluster(access{config: cfg, route: r.routes[identity.WriterOperator]}, r)
	return r, errors.Wrap(err, "cannot connect to the control plane")
}

// OnChange says how to wake the objects of a controller: enqueue must add one to the controller's queue, and must not
// block.
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
	r.unbind(o, u.config)
	u.config, u.last, u.invalid = key, nil, nil
	r.uses[o] = u
	if r.configs[key] == nil {
		r.configs[key] = map[informer.Owner]struct{}{}
	}
	r.configs[key][o] = struct{}{}
}

// Connect returns the cluster a ProviderConfig describes, as the owner is to see it: an owner's namespace may decide
// whom to impersonate. The owner is woken when the credentials change, when the cluster stops answering, which patient
// owners hear of later, and when it answers again. Errors satisfy IsInvalidConnection, IsUnreachable, or are conflicts
// while it is too early to tell.
func (r *Registry) Connect(ctx context.Context, o informer.Owner, described commonv1.Connection) (*Cluster, error) {
	return r.ConnectTo(ctx, o, described, "")
}

// Reconnect is Connect for an owner that is going together with its credentials: if those are gone first, the ones it
// was connected with last will do.
func (r *Registry) Reconnect(ctx context.Context, o informer.Owner, described commonv1.Connection) (*Cluster, error) {
	creds, err := r.resolve(ctx, o, described)
	r.mu.Lock()
	last := r.uses[o].last
	r.mu.Unlock()
	if IsInvalidConnection(err) && last != nil {
		creds, err = *last, nil
	}
	if err != nil {
		return nil, err
	}
	return r.join(ctx, o, creds)
}

// ConnectTo is Connect for a URL that the described cluster has named as another address of its own, such as that of a
// virtual workspace of kcp. It is reached with the same credentials.
func (r *Registry) ConnectTo(ctx context.Context, o informer.Owner, described commonv1.Connection,
	url string,
) (*Cluster, error) {
	creds, err := r.resolve(ctx, o, described)
	if IsInvalidConnection(err) {
		r.Release(o)
		r.setInvalid(o, err)
	}
	if err != nil {
		return nil, err
	}
	creds.endpoint = url
	return r.join(ctx, o, creds)
}

// resolve reads all that a ProviderConfig names.
func (r *Registry) resolve(ctx context.Context, o informer.Owner, described commonv1.Connection) (credentials, error) {
	creds, err := r.credentials(ctx, o, described)
	switch {
	case IsUnreachable(err):
		return creds, errors.Errorf("control plane does not answer: %v", err) // Of the target it tells nothing.
	case err != nil && !isTransient(err):
		return creds, invalidConnectionError{err}
	}
	return creds, err
}

// join makes an owner a user of the cluster of credentials.
func (r *Registry) join(ctx context.Context, o informer.Owner, creds credentials) (*Cluster, error) {
	c, err := r.acquire(o, creds)
	if err != nil {
		err = invalidConnectionError{err}
		r.setInvalid(o, err)
		return nil, err
	}
	r.setInvalid(o, nil)
	if err := c.breaker.look().outage(); err != nil {
		return c, err // It takes no time to say.
	}
	return c, c.Ready(ctx)
}

// Wake wakes all owners bound to a ProviderConfig.
func (r *Registry) Wake(key string) {
	r.mu.Lock()
	owners := slices.Collect(maps.Keys(r.configs[key]))
	r.mu.Unlock()
	r.wakeAll(owners)
}

// WakeOwner wakes one owner.
func (r *Registry) WakeOwner(o informer.Owner) { r.wake(o) }

// Local returns the control plane. What an owner has of it ends with Forget.
func (r *Registry) Local() *Cluster { return r.local }

// Forget ends all that an owner has.
func (r *Registry) Forget(o informer.Owner) {
	r.Release(o)
	r.local.forget(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unbind(o, r.uses[o].config)
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

// acquire returns the cluster of credentials, connected if need be, and gives up the one the owner used before.
func (r *Registry) acquire(o informer.Owner, creds credentials) (*Cluster, error) {
	digest := creds.digest()
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.uses[o]
	if u.cluster != nil && u.digest == digest {
		r.noteConfig(u.config, u.cluster)
		return u.cluster, nil
	}
	u = r.disconnect(o)
	c, ok := r.clusters[digest]
	if !ok {
		a, err := r.access(creds)
		if err != nil {
			return nil, err
		}
		a.interner = r.interner
		if c, err = newCluster(a, r); err != nil {
			return nil, err
		}
		c.credentials = &creds
		r.clusters[digest] = c
	}
	c.users[o] = struct{}{}
	u.cluster, u.digest, u.last = c, digest, c.credentials
	r.uses[o] = u
	r.noteConfig(u.config, c)
	return c, nil
}

// isTransient reports whether an error is about reading credentials and not about what they are.
func isTransient(err error) bool {
	return apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
}

// Release gives up the cluster an owner uses, because it has no valid connection any more.
func (r *Registry) Release(o informer.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disconnect(o)
}

// disconnect takes an owner off its cluster, closes the cluster if it was the last, and returns what the owner still
// has. The caller holds the lock.
func (r *Registry) disconnect(o informer.Owner) use {
	u := r.uses[o]
	if c := u.cluster; c != nil {
		c.forget(o)
		delete(c.users, o)
		if len(c.users) == 0 {
			delete(r.clusters, u.digest)
			c.close()
			go r.tellHealthOf(u.config, true) // It locks the Registry, which is locked.
		}
	}
	u.cluster, u.digest = nil, ""
	r.uses[o] = u
	return u
}

// unbind takes an owner off a ProviderConfig. The caller holds the lock.
func (r *Registry) unbind(o informer.Owner, key string) {
	delete(r.configs[key], o)
	if len(r.configs[key]) == 0 {
		delete(r.configs, key)
	}
}

func (r *Registry) wake(o informer.Owner) {
	r.mu.Lock()
	enqueue, ok := r.sinks[o.Controller]
	r.mu.Unlock()
	if ok {
		enqueue(o.NamespacedName)
	}
}

// changed tells whom it concerns what has become of a cluster.
func (r *Registry) changed(c *Cluster, what change) {
	switch what {
	case changeUp:
		r.tellHealth(c)
		r.wakeUsers(c)
	case changeDown:
		r.tellHealth(c)
		r.wakeCutOff(c)
	case changeHealth:
		r.tellHealth(c)
	case changeTokens:
		r.wakeUsers(c)
	case changeRestored:
		r.tellRestored(c)
	}
}

func (r *Registry) wakeAll(owners []informer.Owner) {
	for _, o := range owners {
		r.wake(o)
	}
}

func (r *Registry) wakeUsers(c *Cluster) {
	r.mu.Lock()
	owners := slices.Collect(maps.Keys(c.users))
	r.mu.Unlock()
	r.wakeAll(owners)
}
