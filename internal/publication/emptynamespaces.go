package publication

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// given are the objects that Kubernetes puts into each namespace by itself.
var given = map[string][]string{
	"serviceaccounts": {"default"},
	"configmaps":      {"kube-root-ca.crt", "openshift-service-ca.crt"},
}

// deletesEmptyNamespaces reports whether namespaces go when they are empty.
func (p *publication) deletesEmptyNamespaces() bool {
	n := p.config.Sync.Spec.CreatedNamespaces
	return n != nil && n.DeleteWhenEmpty && !p.config.RemoveFinalizers
}

// noteCopyFound notes in which namespace the copy of an object has been found, if that is not known.
func (p *publication) noteCopyFound(item objectsync.Primary, namespace string) {
	if p.deletesEmptyNamespaces() {
		p.copyNamespaces.noteFound(item, namespace)
	}
}

// noteCopyNamespace notes in which namespace the copy of an object is. One that it has left may be empty now.
func (p *publication) noteCopyNamespace(ctx context.Context, item objectsync.Primary, namespace string) error {
	if !p.deletesEmptyNamespaces() {
		return nil
	}
	return p.copyNamespaces.move(item, namespace, func(was string) error {
		done, err := p.deleteLeftNamespace(ctx, was)
		if err == nil && !done {
			p.cleanup.Begin(was)
		}
		return err
	})
}

// deleteLeftNamespace deletes a namespace that a copy has left if it is empty, and reports whether it need not be
// looked at again. One with other copies is when these leave.
func (p *publication) deleteLeftNamespace(ctx context.Context, name string) (done bool, err error) {
	if p.hasCopies(name) {
		return true, nil
	}
	ns, err := p.config.Service.Dynamic().Resource(objectsync.Namespaces).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, errors.Wrapf(err, "cannot read namespace %q", name)
	}
	return p.deleteNamespace(ctx, ns)
}

func (p *publication) hasCopies(namespace string) bool {
	return len(p.copies.Select(namespace, labels.Everything())) > 0
}

// untilQuit returns a context that ends when nothing more is to be begun.
func (p *publication) untilQuit() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(p.ctx)
	go func() {
		select {
		case <-p.quits:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// sweep deletes the namespaces that became empty while nobody looked.
func (p *publication) sweep() {
	if !p.deletesEmptyNamespaces() {
		return
	}
	ctx, cancel := p.untilQuit()
	defer cancel()
	list, err := p.config.Service.Dynamic().Resource(objectsync.Namespaces).List(ctx, metav1.ListOptions{
		LabelSelector: objectsync.LabelCreatedFor + "=" + p.config.Sync.Agent,
	})
	if err != nil {
		return // They are looked at again after their next copies.
	}
	for i := range list.Items {
		if ctx.Err() != nil {
			return
		}
		_, _ = p.deleteNamespace(ctx, &list.Items[i]) // Likewise.
	}
}

// revisit looks again at namespaces that were not empty when their copies had gone.
func (p *publication) revisit() {
	ctx, cancel := p.untilQuit()
	defer cancel()
	for {
		name, shutdown := p.cleanup.Get()
		if shutdown {
			return
		}
		p.revisitOne(ctx, name)
		p.cleanup.Done(name)
	}
}

func (p *publication) revisitOne(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, passMax)
	defer cancel()
	if done, err := p.deleteLeftNamespace(ctx, name); err == nil && done {
		p.cleanup.Forget(name)
		return
	}
	p.cleanup.Again(name)
}

// deleteNamespace deletes a namespace that was made for copies, if nothing is in it but what Kubernetes puts into each,
// and reports whether it is none, or goes.
func (p *publication) deleteNamespace(ctx context.Context, ns *unstructured.Unstructured) (done bool, err error) {
	name := ns.GetName()
	if ns.GetLabels()[objectsync.LabelCreatedFor] != p.config.Sync.Agent || ns.GetDeletionTimestamp() != nil {
		return true, nil
	}
	empty := func() (bool, error) {
		if p.hasCopies(name) {
			return false, nil
		}
		return p.isEmpty(ctx, name)
	}
	return p.namespaceLocks.get(p.config.Service.Server(), name).deleteIfEmpty(empty, func() error {
		uid := ns.GetUID()
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
		err := p.config.Service.Dynamic().Resource(objectsync.Namespaces).Delete(ctx, name, options)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return errors.Wrapf(err, "cannot delete namespace %q", name)
	})
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
