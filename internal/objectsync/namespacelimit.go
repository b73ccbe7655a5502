package objectsync

import (
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// checkLook refuses to look for a related object in a namespace of the service cluster that is closed to it, or that
// would be one too many: each namespace is a watch. What was copied before is looked at wherever it is. An error means
// that it is not known.
func (p *pass) checkLook(m relation, both primaries) (refused, err error) {
	below, _ := m.below()
	namespace := below.Namespace
	if namespace == "" || namespace == both.service.GetNamespace() || p.source.GetDeletionTimestamp() != nil ||
		p.recorded(m) || p.copiedByAgent(m) {
		return nil, nil
	}
	open, err := p.isOpenNamespace(m, namespace, both)
	if err != nil {
		return nil, err
	}
	if !open {
		return errors.Wrapf(ErrClosed, "namespace %s of %s", namespace, below), nil
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

// checkSelect returns what is asked before related objects are selected: no selector looks at a namespace of the service
// cluster that is one too many.
func (p *pass) checkSelect(r *related, both primaries) func(namespace string) error {
	return func(namespace string) error {
		if r.origin != v1alpha1.OriginService || p.source.GetDeletionTimestamp() != nil || namespace == "" ||
			namespace == both.service.GetNamespace() {
			return nil
		}
		return p.checkNamespaces(namespace)
	}
}
