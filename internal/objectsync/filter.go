package objectsync

import (
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A filter says which objects of consumers are synced.
type filter struct {
	namespace v1alpha1.NamespaceSelection
	objects   labels.Selector // nil for all
}

func newFilter(f *v1alpha1.ResourceFilter) (filter, error) {
	if f == nil {
		return filter{}, nil
	}
	n, err := f.Namespace.Parse()
	if err != nil {
		return filter{}, errors.Wrap(ErrInvalidSpec, err.Error())
	}
	out := filter{namespace: n}
	if f.Resource == nil {
		return out, nil
	}
	out.objects, err = metav1.LabelSelectorAsSelector(f.Resource)
	if err != nil {
		return filter{}, errors.Wrapf(ErrInvalidSpec, "filter.resource: %v", err)
	}
	return out, nil
}

// asksNamespaces reports whether the filter needs to know the labels of namespaces.
func (f filter) asksNamespaces() bool { return f.namespace.Labels != nil }

// passes reports whether an object is synced. Namespace is that of the object, nil if it has none or the filter does
// not ask. An object without a namespace passes no filter of namespaces.
func (f filter) passes(u, namespace *unstructured.Unstructured) bool {
	if f.objects != nil && !f.objects.Matches(labels.Set(u.GetLabels())) {
		return false
	}
	if f.namespace.Name != "" {
		return u.GetNamespace() == f.namespace.Name
	}
	if f.namespace.Labels != nil {
		return namespace != nil && f.namespace.Labels.Matches(labels.Set(namespace.GetLabels()))
	}
	return true
}
