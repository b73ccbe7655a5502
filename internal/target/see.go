package target

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

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
	if err != nil {
		return nil, errors.Wrapf(err, "cannot get %s %q", i.Resource.GroupResource(),
			cache.NamespacedNameAsObjectName(i.NamespacedName))
	}
	return u, nil
}
