package publication

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

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
