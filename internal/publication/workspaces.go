package publication

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// passMax bounds one sync of one object, and one look at a namespace: a little more than the 30 s that servers give a
	// webhook at most.
	passMax = 35 * time.Second
	// Of the objects of a workspace that have failed retryRate are tried again in a second, and retryBurst at once.
	retryRate, retryBurst = 1, 50
)

// A Config is what is to be served.
type Config struct {
	Consumers

	// Revision differs whenever anything else does but the consumers.
	Revision string
	Sync     objectsync.Config
	Service  *clusters.Cluster
	// RemoveFinalizers has finalizers taken off the objects of consumers, and nothing synced.
	RemoveFinalizers bool

	shared *shared // by all publications of the service cluster
}

// Consumers are who has bound an API, and where they are reached.
type Consumers struct {
	// Endpoints are those of the APIExport, in one order. Untold reports whether kcp does not tell of them.
	Endpoints []Endpoint
	Untold    bool
	// Workspaces are those whose binding to the APIExport an endpoint shows, also one that is being deleted, by their
	// logical clusters. Objects of others are not synced, whatever endpoints show.
	Workspaces map[string]Workspace
	// Schemas are the names of those by which the workspaces know the API and what is related to it.
	Schemas []string
}

// An Endpoint is a virtual workspace of an APIExport: all workspaces of a shard.
type Endpoint struct {
	URL     string
	Cluster *clusters.Cluster
	// Listed reports whether it shows all bindings it has.
	Listed bool
}

// A Workspace is one with a binding to an APIExport.
type Workspace struct {
	// Path is that of the workspace, empty if it is not known, and Endpoint the URL of the endpoint that shows it.
	Path, Endpoint string
	// Bound reports whether it can use the API.
	Bound bool
	// Hidden are the resources whose permission claims it has not accepted, and Whole those of which it shows all that it
	// has, as resource.group, sorted and separated by commas.
	Hidden, Whole string
}

// A workspace is what is known of a logical cluster as long as its binding is shown or anything of it is left.
// That no endpoint shows it does not mean that it is gone: a shard may be missing for a moment, and so is a workspace
// that moves to another one.
type workspace struct {
	// Workspace is what its binding says. Endpoint is what it was when it was last seen.
	Workspace

	shown   bool
	objects int           // how many of its objects, copies and states are known
	retries *rate.Limiter // of those that have failed
}

// showsAll reports whether it shows all that it has of a resource.
func (w workspace) showsAll(r schema.GroupResource) bool {
	return slices.Contains(strings.Split(w.Whole, ","), r.String())
}

// A workspaceIndex is what is known of all workspaces. Its methods may be called concurrently.
type workspaceIndex struct {
	mu        sync.Mutex
	consumers Consumers
	known     map[string]*workspace // by logical cluster
}

// record returns what is known of a logical cluster. The caller holds the lock.
func (x *workspaceIndex) record(cluster string) *workspace {
	if x.known[cluster] == nil {
		x.known[cluster] = &workspace{retries: rate.NewLimiter(retryRate, retryBurst)}
	}
	return x.known[cluster]
}

// forget forgets a logical cluster that neither binds the API nor has anything left. The caller holds the lock.
func (x *workspaceIndex) forget(cluster string) {
	if w := x.known[cluster]; w != nil && !w.shown && w.objects == 0 {
		delete(x.known, cluster)
	}
}

// get returns a copy of what is known of a logical cluster.
func (x *workspaceIndex) get(cluster string) workspace {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := x.known[cluster]; w != nil {
		return *w
	}
	return workspace{}
}

// endpoints returns those that kcp names, and reports whether it tells of them.
func (x *workspaceIndex) endpoints() (all []Endpoint, told bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.consumers.Endpoints, !x.consumers.Untold
}

// hides reports whether a workspace has not accepted the permission claim for a resource.
func (x *workspaceIndex) hides(cluster, resource string) bool {
	return slices.Contains(strings.Split(x.get(cluster).Hidden, ","), resource)
}

// count takes that more objects of a logical cluster are known, or fewer.
func (x *workspaceIndex) count(cluster string, more int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.record(cluster).objects += more
	x.forget(cluster)
}

// follow takes over who binds the API by now, and returns what was before. Changed reports whether that or the
// endpoints differ, and allowed are the logical clusters whose bindings are shown again, elsewhere, or allow something
// else.
func (x *workspaceIndex) follow(c Consumers) (was Consumers, changed bool, allowed set[string]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, x.consumers, allowed = x.consumers, c, set[string]{}
	for cluster, is := range c.Workspaces {
		w := x.record(cluster)
		is.Path = cmp.Or(is.Path, w.Path)
		if !w.shown || w.Workspace != is {
			allowed[cluster] = struct{}{}
		}
		w.Workspace, w.shown = is, true
	}
	for cluster, w := range x.known {
		if _, still := c.Workspaces[cluster]; w.shown && !still {
			w.shown, w.Bound, w.Hidden, w.Whole = false, false, "", ""
			x.forget(cluster)
		}
	}
	return was, !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints), allowed
}

// given are the objects that Kubernetes puts into each namespace by itself.
var given = map[schema.GroupResource][]string{
	{Resource: "serviceaccounts"}: {"default"},
	{Resource: "configmaps"}:      {"kube-root-ca.crt", "openshift-service-ca.crt"},
}

// A namespace is looked at emptyAgain after a copy in it has gone, as that may be made again, and if it is not empty so
// often at most, after pauses that double: what belongs to a copy goes after it, by the garbage collector or by an
// operator.
const (
	emptyAgain = 3 * time.Second
	emptyLooks = 8
)

// A namespaceCleaner deletes namespaces of copies that are empty. Its methods may be called concurrently.
type namespaceCleaner struct {
	config  Config
	streams *streams
	queue   workqueue.TypedRateLimitingInterface[string] // those that copies have left
	failed  atomic.Pointer[error]                        // why the last look has failed, nil if it has not
}

// newNamespaceCleaner returns what deletes the namespaces of a Config, nil if they stay.
func newNamespaceCleaner(c Config, s *streams) *namespaceCleaner {
	if n := c.Sync.Spec.CreatedNamespaces; n == nil || n.WhenEmpty != xpv2.DeletionDelete || c.RemoveFinalizers {
		return nil
	}
	return &namespaceCleaner{
		config: c, streams: s,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](emptyAgain, time.Hour)),
	}
}

// left has a namespace looked at in which a copy has gone. A nil cleaner does nothing.
func (c *namespaceCleaner) left(name string) {
	if c != nil && name != "" {
		c.queue.Forget(name)
		c.queue.AddAfter(name, emptyAgain)
	}
}

// failure returns why the last look at a namespace has failed, nil if it has not.
func (c *namespaceCleaner) failure() error {
	if c == nil || c.failed.Load() == nil {
		return nil
	}
	return *c.failed.Load()
}

// run looks at namespaces that copies have left, and first at all that were made for copies, until the queue is shut
// down.
func (c *namespaceCleaner) run(ctx context.Context) {
	list, err := c.config.Service.Dynamic().Resource(objectsync.Namespaces).List(ctx, metav1.ListOptions{
		LabelSelector: objectsync.LabelCreatedFor + "=" + c.config.Sync.Agent,
	})
	for i := 0; err == nil && i < len(list.Items); i++ { // Else they are looked at after their next copies.
		c.queue.Add(list.Items[i].GetName())
	}
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.look(ctx, name)
		c.queue.Done(name)
	}
}

// look deletes a namespace if it is empty, or has it looked at again.
func (c *namespaceCleaner) look(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, passMax)
	defer cancel()
	done, err := c.delete(ctx, name)
	if err != nil {
		c.failed.Store(&err)
		c.queue.AddAfter(name, retryMost)
		return
	}
	c.failed.Store(nil)
	if done || c.queue.NumRequeues(name) >= emptyLooks {
		c.queue.Forget(name)
		return
	}
	c.queue.AddRateLimited(name)
}

// delete deletes a namespace that was made for copies and that one has left, if nothing is in it but what Kubernetes
// puts into each. It reports whether it need not be looked at again. One with other copies is when these leave. What is
// created at the same moment is made again, with its namespace.
func (c *namespaceCleaner) delete(ctx context.Context, name string) (done bool, err error) {
	if c.hasCopies(name) {
		return true, nil
	}
	client := c.config.Service.Dynamic().Resource(objectsync.Namespaces)
	ns, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, errors.Wrapf(err, "cannot read namespace %q", name)
	}
	if ns.GetLabels()[objectsync.LabelCreatedFor] != c.config.Sync.Agent || ns.GetDeletionTimestamp() != nil {
		return true, nil
	}
	if empty, err := c.isEmpty(ctx, name); err != nil || !empty || c.hasCopies(name) {
		return false, err
	}
	uid := ns.GetUID()
	err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil
	}
	return err == nil, errors.Wrapf(err, "cannot delete namespace %q", name)
}

// hasCopies reports whether a namespace has copies that are known.
func (c *namespaceCleaner) hasCopies(name string) bool {
	return len(c.streams.copies.Select(name, labels.Everything())) > 0
}

// isEmpty reports whether a namespace holds nothing of any kind, but Events and what Kubernetes puts there. What cannot
// be told is not empty.
func (c *namespaceCleaner) isEmpty(ctx context.Context, namespace string) (bool, error) {
	all, err := discovery.ServerPreferredNamespacedResources(c.config.Service.Discovery())
	if err != nil {
		return false, errors.Wrap(err, "cannot discover the namespaced kinds")
	}
	kinds, err := discovery.GroupVersionResources(
		discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, all))
	for r := range kinds {
		if r.Resource == events.Resource && (r.Group == corev1.GroupName || r.Group == "events.k8s.io") {
			continue
		}
		known := given[r.GroupResource()]
		list, err := c.config.Service.Resource(r, namespace).List(ctx, metav1.ListOptions{Limit: int64(len(known)) + 1})
		if err != nil {
			return false, errors.Wrapf(err, "cannot tell whether namespace %q is empty", namespace)
		}
		if slices.ContainsFunc(list.Items,
			func(u unstructured.Unstructured) bool { return !slices.Contains(known, u.GetName()) }) {
			return false, nil
		}
	}
	return err == nil, errors.Wrap(err, "cannot parse the discovery document of the service cluster")
}
