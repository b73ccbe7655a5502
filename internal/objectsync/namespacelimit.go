package objectsync

import (
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// checkLook refuses to look for a related object in a namespace of the service cluster that is closed to it, or that
// would be one too many: each namespace is a watch. What was copied before is looked at wherever it is. An error means
// that it is not known.
func (p *pass) checkLook(m relation, both primaries) (refused, err error) {
	namespace := m.below().Namespace
	if namespace == "" || namespace == both.service.GetNamespace() || p.source.GetDeletionTimestamp() != nil ||
		p.recorded(m) || p.copiedByAgent(m) {
		return nil, nil
	}
	open, err := p.isOpenNamespace(m, namespace, both)
	if err != nil {
		return nil, err
	}
	if !open {
		return errors.Wrapf(ErrClosed, "namespace %s of %s", namespace, m.below()), nil
	}
	return p.checkNamespaces(namespace), nil
}

// refusals returns why some related objects are not looked for. What is not in the workspace is not missed. What may be
// in a closed namespace is refused whether or not it is there, which is nothing for a consumer to find out.
func refusals(all []relation) []error {
	var errs []error
	for _, m := range all {
		if m.refused != nil && (m.related.origin == v1alpha1.OriginService || m.origin != nil) {
			errs = append(errs, m.refused)
		}
	}
	return errs
}

// checkNamespaces fails if a namespace of the service cluster would be one too many.
func (p *pass) checkNamespaces(namespace string) error {
	if p.MayLook == nil || p.MayLook(namespace) {
		return nil
	}
	return ErrTooManyNamespaces
}

// watched returns the side of the origin of related objects, where no selector looks at a namespace of the service
// cluster that is one too many.
func (p *pass) watched(r *related, both primaries, origin Side) Side {
	if r.origin != v1alpha1.OriginService || p.source.GetDeletionTimestamp() != nil {
		return origin
	}
	of := origin.Cache
	origin.Cache = func(gvr schema.GroupVersionResource) Cache {
		return boundedCache{of(gvr), p, both.service.GetNamespace()}
	}
	return origin
}

// A boundedCache is one of the service cluster that shows the objects of so many namespaces.
type boundedCache struct {
	Cache

	pass *pass
	copy string // the namespace of the copy
}

// Select returns the objects of a namespace.
func (c boundedCache) Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	if namespace != "" && namespace != c.copy {
		if err := c.pass.checkNamespaces(namespace); err != nil {
			return nil, err
		}
	}
	return c.Cache.Select(namespace, s)
}
