package objectsync

import (
	"cmp"
	"slices"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// NamespacesMax is how many namespaces of the service cluster are looked at for the objects of one workspace, beside
// those of its copies.
const NamespacesMax = 100

var (
	// ErrTooManyNamespaces means that the objects of a workspace refer to related objects in more than NamespacesMax
	// namespaces.
	ErrTooManyNamespaces = errors.Errorf(
		"objects of the workspace refer to related objects in more than %d namespaces of the service cluster",
		NamespacesMax)
	// ErrClosed means that a value of the consumer names what does not belong to its workspace, and what the service owner
	// has not opened.
	ErrClosed = errors.Wrap(ErrForeign, "it is not for the consumer to name")
)

// newTenant returns the consumer of an object whose copy is in a namespace. One that naming gives to no other workspace
// is its own while the copy is in it. So is one with the name of the logical cluster: that is the default, which may be
// that of an earlier spec.
func (p *relatedSync) newTenant(namespace string) related.Tenant {
	_, by := p.namer.Who()
	is, err := p.namer.Name(p.naming())
	return related.Tenant{
		Cluster: p.id.Cluster, CopyNamespace: namespace, StateNamespace: p.stateNamespace,
		OwnsCopyNamespace: namespace == p.id.Cluster || by == naming.Workspace && err == nil && is.Namespace == namespace,
		HasOthers:         p.hasOthers,
	}
}

// hasOthers reports whether a namespace has copies of other workspaces, and none of this one. Each is looked at once.
func (p *relatedSync) hasOthers(namespace string) (bool, error) {
	if others, known := p.others[namespace]; known {
		return others, nil
	}
	others, err := p.Holders.HasOthers(namespace, p.id.Cluster)
	if err == nil {
		p.others[namespace] = others
	}
	return others, err
}

// refer notes a related object in the result. One that the consumer may not name is not noted: it would be kept from
// whom it belongs to.
func (p *relatedSync) refer(m relation) error {
	err := p.checkAccess(m)
	if err == nil || p.recorded(m) || p.copiedByAgent(m) {
		p.result.Related = append(p.result.Related, p.holding(m.record()))
		return nil
	}
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// checkAccess fails if the consumer may not name a related object.
func (p *relatedSync) checkAccess(m relation) error {
	below, u := m.below()
	refused, err := m.rule.Admits(p.tenant, below.NamespacedName(), p.owns(u))
	if refused != nil {
		return errors.Wrapf(ErrClosed, "%s: %v", below, refused)
	}
	return err
}

// checkLook refuses to look for a related object in a namespace of the service cluster. What was copied before is
// looked at wherever it is. An error means that it is not known.
func (p *relatedSync) checkLook(m relation) (refused, err error) {
	below, _ := m.below()
	if p.recorded(m) || p.copiedByAgent(m) {
		return nil, nil
	}
	return p.checkNamespace(m.copyRule, below.Namespace)
}

// checkSelect fails if no related objects may be selected in a namespace at the origin. Where one was copied from
// before, they may.
func (p *relatedSync) checkSelect(r *copyRule, namespace string) error {
	if r.origin != v1alpha1.OriginService || slices.ContainsFunc(p.state.records.all(),
		func(x recorded) bool { return r.relates(x.Record) && x.From.Namespace == namespace }) {
		return nil
	}
	refused, err := p.checkNamespace(r, namespace)
	return cmp.Or(err, refused)
}

// checkNamespace refuses a namespace of the service cluster that is closed, or that would be one too many: each is a
// watch. An object that is being deleted needs none but those of what was copied.
func (p *relatedSync) checkNamespace(r *copyRule, namespace string) (refused, err error) {
	if namespace == "" || namespace == p.tenant.CopyNamespace || p.source.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	refused, err = r.rule.AdmitsNamespace(p.tenant, namespace)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return errors.Wrap(ErrClosed, refused.Error()), nil
	case p.MayLook != nil && !p.MayLook(namespace):
		return ErrTooManyNamespaces, nil
	}
	return nil, nil
}
