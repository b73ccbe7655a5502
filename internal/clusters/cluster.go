package clusters

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

const (
	// selector selects the resources that carry our label.
	selector = commonv1.LabelKeyManaged + "=" + commonv1.LabelValueManaged
	// AllClusters is the end of the URL of a virtual workspace of kcp that shows all its logical clusters.
	AllClusters = "/clusters/*"
	maxAddress  = 1 << 10
)

// A Cluster is a connection to one cluster or kcp workspace with one set of credentials. Its methods may be called
// concurrently.
type Cluster struct {
	*kinds
	*retries

	server      string       // as it may be shown
	place       string       // its address, and the tenant who has connected first
	credentials *credentials // what it was connected with, which its users share

	config    *rest.Config // only to make further clients of http
	http      *http.Client
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
	watches   *informer.Set
	breaker   *breaker
	tokens    *identity.Keeper // nil if the configuration is enough to authenticate
	identity  atomic.Value     // the UID that Identity returns; nothing while nobody has asked
	ending    atomic.Bool      // It is a workspace in deletion, as far as is known.
	replace   func()           // called when the address leads to another cluster
	cancel    context.CancelFunc
	users     map[informer.Owner]struct{} // The Registry guards it.
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
		retries: &retries{wake: r.WakeOwner, failed: map[informer.Owner]failed{}}, users: map[informer.Owner]struct{}{},
		server: addressOf(host), config: a.config, cancel: cancel,
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
	c.place = host.Host + " of " + a.tenant
	c.breaker.probes = r.probesOf(c)
	// Each client copies the configuration, and so shares its limiter. There is none.
	a.config.QPS, a.config.Burst, a.config.RateLimiter = -1, 0, nil
	a.config.Wrap(limitHeaders)
	a.config.Wrap(a.route.fence.Wrap) // Behind all that waits.
	a.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.breaker.next = a.route.wall(c.breaker.paths, next)
		return c.breaker
	})
	if a.tokens != nil {
		c.tokens = identity.NewKeeper(a.route.forTokens(ctx), a.tokens, usable, health)
		a.config.Wrap(c.tokens.Wrap) // In front of the breaker: that there is no token is not the target's fault.
	}
	if err := c.dial(ctx, a.route, r); err != nil {
		return nil, errors.Wrap(err, "cannot make a client from the kubeconfig")
	}
	c.breaker.suspect()
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
		Selector: selector, Metadata: m, Wake: r.WakeOwner, WentBack: func() { r.tellRestored(c) }, IsSame: c.isSame,
		PageSize: way.page,
	})
	// The stream of a kind that has gone and come back rests until it is told.
	c.kinds = newKinds(ctx, c.discovery.RESTClient(), func(o informer.Owner) { c.watches.Kick(); r.WakeOwner(o) })
	return nil
}

// Resource returns a client of a resource, in a namespace unless that is empty.
func (c *Cluster) Resource(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(r).Namespace(namespace)
}

// Delete deletes a resource, whose namespace may be empty, and reports whether the server answers with a Status: it
// does if the resource is gone, or was being deleted before, and answers with the resource if it stays for now. See
// Delete in k8s.io/apiserver v0.36.3, pkg/registry/generic/registry/store.go. That of client-go's dynamic client drops
// the answer.
func (c *Cluster) Delete(
	ctx context.Context, r schema.GroupVersionResource, n types.NamespacedName, o metav1.DeleteOptions,
) (plain bool, err error) {
	o.APIVersion, o.Kind = "v1", "DeleteOptions"
	body, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	prefix := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		prefix = []string{"api", r.Version}
	}
	res := c.discovery.RESTClient().Delete().AbsPath(prefix...).NamespaceIfScoped(n.Namespace, n.Namespace != "").
		Resource(r.Resource).Name(n.Name).SetHeader("Accept", runtime.ContentTypeJSON).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx)
	if err := res.Error(); err != nil {
		return false, err
	}
	answer := metav1.TypeMeta{}
	raw, err := res.Raw()
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer.Kind == "Status", err
}

// Dynamic returns a client of the cluster.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

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
	if apierrors.IsNotFound(err) && !IsUnserved(err) {
		return nil, nil //nolint:nilnil // That it does not exist is an answer.
	}
	if err == nil {
		err = informer.Unreadable(u)
	}
	return u, errors.Wrapf(err, "cannot get %s %q", i.Resource.GroupResource(),
		cache.NamespacedNameAsObjectName(i.NamespacedName))
}

// Identity returns what tells the cluster from any other, whoever reaches it: the UID of Namespace kube-system or, of a
// workspace of kcp, that of its LogicalCluster. It is empty before the first watch, and for who may not read it.
func (c *Cluster) Identity() types.UID {
	is, _ := c.identity.Load().(types.UID)
	return is
}

// isSame reports whether the cluster is known to be the one that was connected to. It asks at first, and whenever it is
// to ask anew. If it is another one the connection ends, as nothing that is known holds. The control plane is the same:
// all that the provider knows is of it.
func (c *Cluster) isSame(ctx context.Context, anew bool) bool {
	if c.credentials == nil || !anew && c.identity.Load() != nil {
		return true
	}
	same, _ := c.once(ctx, "identity", func() (any, error) {
		is := c.readIdentity()
		if !c.identity.CompareAndSwap(nil, is) && is != "" && is != c.Identity() {
			c.replace()
		}
		return is != "" && is == c.Identity(), nil
	})
	is, _ := same.(bool)
	return is
}

// readIdentity asks for the identity. That of a workspace which is being deleted counts as unknown. Virtual workspaces,
// which show many clusters, have none.
func (c *Cluster) readIdentity() types.UID {
	of, name := corev1.SchemeGroupVersion.WithResource("namespaces"), metav1.NamespaceSystem
	if c.breaker.paths.wildcard {
		return ""
	}
	if strings.Contains(c.breaker.paths.base, "/clusters/") {
		of, name = kcp.LogicalClusters, kcp.LogicalCluster
	}
	u, err := c.Resource(of, "").Get(c.breaker.ctx, name, metav1.GetOptions{})
	if err == nil {
		c.ending.Store(u.GetDeletionTimestamp() != nil)
	}
	if err != nil || c.ending.Load() {
		return ""
	}
	return u.GetUID()
}

// Discovery returns a client that asks what the cluster serves, for what Mapping does not tell. Its methods take no
// context: the deadlines of the connection end their requests.
func (c *Cluster) Discovery() discovery.DiscoveryInterface { return c.discovery }

// A roundTrip is a function that sends requests.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Server returns the URL of the cluster, or of the workspace if it is one, as addressOf makes it.
func (c *Cluster) Server() string { return c.server }

// Watches returns the watches of the cluster.
func (c *Cluster) Watches() *informer.Set { return c.watches }

// Ready returns nil if the cluster answers and its identity gives a token, and an error that satisfies IsUnreachable or
// IsInvalidConnection if not.
func (c *Cluster) Ready(ctx context.Context) error {
	err := c.breaker.ready(ctx)
	if err == nil && c.tokens != nil {
		err = c.tokens.Ready(ctx)
	}
	// kcp ends watches when it begins to delete a workspace. Those that begin later stay open without a word when it is
	// gone, and when there is another one by its path.
	if err == nil && c.ending.Load() && !c.isSame(ctx, true) && c.breaker.ctx.Err() != nil {
		err = errConnecting
	}
	return err
}

// forget ends all that an owner has on the cluster.
func (c *Cluster) forget(o informer.Owner) {
	c.watches.Forget(o)
	c.kinds.forget(o)
	c.retries.forget(o)
}

// close ends the connection.
func (c *Cluster) close() {
	c.cancel()
	c.watches.Close()
}

// addressOf returns a URL without credentials, query and fragment. It is cut at 1 KiB, as a tenant may write 1 MiB.
func addressOf(u *url.URL) string {
	a := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	return strings.ToValidUTF8(a[:min(len(a), maxAddress)], "")
}
