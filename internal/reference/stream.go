package reference

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// purposeReferences are the resources an Object refers to.
const purposeReferences informer.Purpose = "references"

// interest says through which stream the resource of a reference is seen.
func (l *located) interest() informer.Interest {
	i := informer.Interest{
		Resource: l.mapping.Resource, NamespacedName: l.NamespacedName, Stream: informer.StreamByName,
	}
	if l.Selector != "" {
		i.Stream, i.Selector = informer.StreamBySelector, l.Selector
	}
	return i
}

// stream returns the shared resources that a reference names, from the watches or, where the control plane denies
// those, from itself.
func (r *Resolver) stream(ctx context.Context, o informer.Owner, ref *located) ([]*unstructured.Unstructured, error) {
	if !ref.mapping.Watchable {
		return r.ask(ctx, ref)
	}
	var us []*unstructured.Unstructured
	var err error
	if ref.Selector != "" {
		us, err = r.cluster.Watches().List(ctx, o, ref.interest())
	} else {
		us, err = r.one(ctx, o, ref)
	}
	if informer.IsDenied(err) {
		return r.ask(ctx, ref)
	}
	return us, errors.Wrap(err, "cannot look at reference")
}

func (r *Resolver) one(ctx context.Context, o informer.Owner, ref *located) ([]*unstructured.Unstructured, error) {
	u, err := r.cluster.Watches().Get(ctx, o, ref.interest())
	if u == nil || err != nil {
		return nil, err
	}
	return []*unstructured.Unstructured{u}, nil
}

// ask reads the resources that a reference names from the control plane.
func (r *Resolver) ask(ctx context.Context, ref *located) ([]*unstructured.Unstructured, error) {
	c := r.cluster.Resource(ref.mapping.Resource, ref.Namespace)
	if ref.Selector != "" {
		l, err := c.List(ctx, metav1.ListOptions{LabelSelector: ref.Selector})
		if err != nil {
			return nil, r.doubt(ref, err)
		}
		us := make([]*unstructured.Unstructured, 0, len(l.Items))
		for i := range l.Items {
			us = append(us, &l.Items[i])
		}
		return us, nil
	}
	u, err := c.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, r.doubt(ref, err)
	}
	return []*unstructured.Unstructured{u}, nil
}

// doubt returns no error if a resource is not found, and forgets its kind if the control plane answers as if it did not
// serve that.
func (r *Resolver) doubt(ref *located, err error) error {
	unserved := target.IsUnserved(err)
	if unserved {
		r.cluster.InvalidateMapping(ref.GVK)
	}
	if apierrors.IsNotFound(err) && !unserved {
		return nil
	}
	return refused(errors.Wrapf(err, "cannot read %s", &ref.Reference))
}
