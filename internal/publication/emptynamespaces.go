package publication

import (
	"cmp"
	"context"
	"slices"
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
var given = map[string][]string{
	"serviceaccounts": {"default"},
	"configmaps":      {"kube-root-ca.crt", "openshift-service-ca.crt"},
}

// A namespace that was not empty when its last copy had gone is looked at again after emptyAgain, and so often at most,
// after pauses that double: what belongs to a copy goes after it, by the garbage collector or by an operator.
const (
	emptyAgain = 3 * time.Second
	emptyLooks = 8
)

// newLeftNamespaces returns a queue of namespaces that copies have left.
func newLeftNamespaces() workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](emptyAgain, time.Hour))
}

// deletesEmptyNamespaces reports whether namespaces go when they are empty.
func (p *publication) deletesEmptyNamespaces() bool {
	n := p.config.Sync.Spec.CreatedNamespaces
	return n != nil && n.WhenEmpty == xpv2.DeletionDelete && !p.config.RemoveFinalizers
}

// noteCopyFound notes in which namespace the copy of an object has been found, if that is not known: the syncs of the
// object may fail until it is deleted.
func (p *publication) noteCopyFound(item objectsync.Primary, namespace string) {
	if p.deletesEmptyNamespaces() {
		p.update(item, func(o *object) { o.copyNamespace = cmp.Or(o.copyNamespace, namespace) })
	}
}

// noteCopyNamespace notes in which namespace the copy of an object is, empty for nowhere. One that it has left may be
// empty now.
func (p *publication) noteCopyNamespace(ctx context.Context, item objectsync.Primary, namespace string) error {
	if !p.deletesEmptyNamespaces() {
		return nil
	}
	was := ""
	p.update(item, func(o *object) { was = o.copyNamespace })
	if was != "" && was != namespace {
		done, err := p.deleteLeftNamespace(ctx, was)
		if err != nil {
			return err
		}
		if !done {
			p.leftNamespaces.Forget(was)
			p.leftNamespaces.AddRateLimited(was)
		}
	}
	p.update(item, func(o *object) { o.copyNamespace = namespace })
	return nil
}

// deleteLeftNamespace deletes a namespace that was made for copies and that one has left, if nothing is in it but what
// Kubernetes puts into each. It reports whether it need not be looked at again. One with other copies is when these
// leave.
func (p *publication) deleteLeftNamespace(ctx context.Context, name string) (done bool, err error) {
	if p.hasCopies(name) {
		return true, nil
	}
	client := p.config.Service.Dynamic().Resource(objectsync.Namespaces)
	ns, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, errors.Wrapf(err, "cannot read namespace %q", name)
	}
	if ns.GetLabels()[objectsync.LabelCreatedFor] != p.config.Sync.Agent || ns.GetDeletionTimestamp() != nil {
		return true, nil
	}
	lock := p.config.shared.locks.of(name)
	if !lock.TryLock() {
		return false, nil // Something is being created.
	}
	defer lock.Unlock()
	if empty, err := p.isEmpty(ctx, name); err != nil || !empty {
		return false, err
	}
	uid := ns.GetUID()
	err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil
	}
	return err == nil, errors.Wrapf(err, "cannot delete namespace %q", name)
}

func (p *publication) hasCopies(namespace string) bool {
	return len(p.copies.Select(namespace, labels.Everything())) > 0
}

// sweep has namespaces looked at that became empty while nobody looked.
func (p *publication) sweep() {
	if !p.deletesEmptyNamespaces() {
		return
	}
	list, err := p.config.Service.Dynamic().Resource(objectsync.Namespaces).List(p.working, metav1.ListOptions{
		LabelSelector: objectsync.LabelCreatedFor + "=" + p.config.Sync.Agent,
	})
	if err != nil {
		return // They are looked at again after their next copies.
	}
	for i := range list.Items {
		p.leftNamespaces.Add(list.Items[i].GetName())
	}
}

// revisit looks again at namespaces that were not empty when their copies had gone.
func (p *publication) revisit() {
	for {
		name, shutdown := p.leftNamespaces.Get()
		if shutdown {
			return
		}
		p.revisitOne(name)
		p.leftNamespaces.Done(name)
	}
}

func (p *publication) revisitOne(name string) {
	ctx, cancel := context.WithTimeout(p.working, passMax)
	defer cancel()
	done, err := p.deleteLeftNamespace(ctx, name)
	if err == nil && done || p.leftNamespaces.NumRequeues(name) == emptyLooks {
		p.leftNamespaces.Forget(name)
		return
	}
	p.leftNamespaces.AddRateLimited(name)
}

// isEmpty reports whether a namespace holds nothing of any kind. What cannot be told is not empty.
func (p *publication) isEmpty(ctx context.Context, namespace string) (bool, error) {
	all, err := discovery.ServerPreferredNamespacedResources(p.config.Service.Discovery())
	if err != nil {
		return false, errors.Wrap(err, "cannot discover what a namespace may hold")
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, all) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return false, errors.New("cannot parse what the service cluster serves")
		}
		for _, r := range list.APIResources {
			holds, err := p.holds(ctx, gv.WithResource(r.Name), namespace)
			if err != nil || holds {
				return false, err
			}
		}
	}
	return true, nil
}

// holds reports whether a namespace has objects of a resource. Events are none.
func (p *publication) holds(ctx context.Context, r schema.GroupVersionResource, namespace string) (bool, error) {
	if r.Resource == events.Resource && (r.Group == corev1.GroupName || r.Group == "events.k8s.io") {
		return false, nil
	}
	known := given[r.Resource]
	list, err := p.config.Service.Dynamic().Resource(r).Namespace(namespace).List(ctx,
		metav1.ListOptions{Limit: int64(len(known)) + 1})
	if err != nil {
		return false, errors.Wrapf(err, "cannot tell whether namespace %q is empty", namespace)
	}
	return slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool {
		return r.Group != corev1.GroupName || !slices.Contains(known, u.GetName())
	}), nil
}
