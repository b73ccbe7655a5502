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
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

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

	server      string       // as it may be shown
	address     string       // its address, and the tenant who has connected first
	credentials *credentials // what it was connected with, which its users share

	config    *rest.Config // only to make further clients of http
	http      *http.Client
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
	watches   *informer.Set
	breaker   *breaker
	retries   workqueue.TypedRateLimiter[informer.Owner]
	tokens    *identity.Keeper // nil if the configuration is enough to authenticate
	identity  atomic.Value     // the UID that Identity returns; nothing while nobody has asked
	ending    atomic.Bool      // It is a workspace in deletion, as far as is known.
	replace   func()           // called when the address leads to another cluster
	cancel    context.CancelFunc
	users     map[informer.Owner]struct{} // The Registry guards it.
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
	return d, errors.Wrapf(err, "cannot create a client of logical cluster %q", logical)
}

// Get returns a resource, nil if it does not exist: from the watch, which wakes the owner from then on, or by a request
// if the cluster refuses that. The result is shared and must not be changed. The error satisfies informer.IsNotSynced
// as long as the watch has not begun.
func (c *Cluster) Get(ctx context.Context, o informer.Owner, p informer.Purpose, i informer.WatchRequest,
) (*unstructured.Unstructured, error) {
	u, err := c.watches.Get(ctx, o, p, i)
	if !informer.IsDenied(err) {
		return u, err
	}
	return c.Read(ctx, i)
}

// Read asks the cluster for a resource, and returns nil if it does not exist.
func (c *Cluster) Read(ctx context.Context, i informer.WatchRequest) (*unstructured.Unstructured, error) {
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

// Retries says when owners that fail on the cluster are tried again. Who succeeds is to be forgotten there.
func (c *Cluster) Retries() workqueue.TypedRateLimiter[informer.Owner] { return c.retries }

// Watches returns the watches of the cluster.
func (c *Cluster) Watches() *informer.Set { return c.watches }

// Ready returns nil if the cluster answers and its identity gives a token, and an error that satisfies IsUnreachable or
// IsInvalidConnection if not.
func (c *Cluster) Ready(ctx context.Context) error {
	err := c.breaker.ready(ctx)
	if err == nil && c.tokens != nil {
		_, err = c.tokens.Token()
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
	c.retries.Forget(o)
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
