package objectsync

import (
	"cmp"
	"context"
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

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
	ErrClosed = errors.Wrap(ErrForeign, "the consumer may not name it")
)

// A finder reads the related objects of one object. What the consumer may not name it does not look at.
type finder struct {
	*pass

	both     related.View // The copy is as it will be.
	tenant   related.Tenant
	copies   map[Record]bool // those of the object, made or about to be, as what they would be of
	holdings []Holding       // the related objects that the consumer may name
}

func newFinder(p *pass, both related.View) *finder {
	namespace := both.Service.GetNamespace()
	_, by := p.syncer.namer.Who()
	at, err := p.view.name()
	// A namespace that naming gives to no other workspace is its own while the copy is in it. So is one with the name of
	// the logical cluster: that is the default, which may be that of an earlier spec.
	own := namespace == p.view.id.Cluster || by == naming.Workspace && err == nil && at.Namespace == namespace
	others := map[string]bool{} // by namespace, so that each is looked at once
	copies := map[Record]bool{}
	for r := range p.view.stored.records {
		from := v1alpha1.OriginKCP
		if r.Origin == from {
			from = v1alpha1.OriginService
		}
		copies[Record{Origin: from, From: r.To}] = true
	}
	return &finder{pass: p, both: both, copies: copies, tenant: related.Tenant{
		Cluster: p.view.id.Cluster, CopyNamespace: namespace, StateNamespace: p.syncer.config.StateNamespace,
		OwnsCopyNamespace: own,
		HasOthers: func(namespace string) (is bool, err error) {
			is, known := others[namespace]
			if !known {
				if is, err = p.hasOthers(namespace); err == nil {
					others[namespace] = is
				}
			}
			return is, err
		},
	}}
}

// hasOthers reports whether a namespace of the service cluster has, or was made for, copies of other workspaces alone,
// as its label tells. To look at it is a watch.
func (p *pass) hasOthers(namespace string) (bool, error) {
	if p.in.MayRead != nil && !p.in.MayRead(namespace) {
		return false, ErrTooManyNamespaces
	}
	u, err := p.in.Service.Cache(Namespaces).Get(types.NamespacedName{Name: namespace})
	if err != nil || u == nil {
		return false, errors.Wrapf(err, "cannot tell whose namespace %q is", namespace)
	}
	if of, is := u.GetLabels()[LabelCopiesOf]; !is || of == p.view.id.Cluster {
		return false, nil
	}
	has, err := p.in.Holders.HasCopies(namespace, p.view.id.Cluster)
	return !has, err
}

// find returns the related objects that a rule names, and notes those that the consumer may name. A copy from the other
// side is none: two selectors would copy each other's copies for ever.
func (f *finder) find(ctx context.Context, r *copyRule) ([]*copySync, error) {
	names, err := f.resolve(ctx, r)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot find related objects %q", r.identifier)
	}
	var all []*copySync
	for _, n := range names {
		c := &copySync{
			rule: r, cluster: clusterOf(r.origin, f.view.id.Cluster), from: r.from.ref(n.From), to: r.to.ref(n.To),
		}
		isCopy := f.learn(c)
		if !isCopy {
			isCopy, err = f.look(c)
		}
		if err != nil {
			return nil, err
		}
		if !isCopy {
			all = append(all, c)
		}
	}
	return all, nil
}

// resolve returns the names of the related objects that a rule leads to.
func (f *finder) resolve(ctx context.Context, r *copyRule) ([]related.Names, error) {
	origin, _ := f.in.of(r.origin)
	read := func(r Resource) func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return origin.read(ctx, r.ref(nameOf(u)), u)
		}
	}
	return r.names.Names(f.both, related.Finder{
		Namespaces: related.Source{
			Read: read(Resource{GroupVersionResource: Namespaces, Kind: "Namespace"}),
			Select: func(_ string, s labels.Selector) ([]*unstructured.Unstructured, error) {
				return origin.Cache(Namespaces).Select("", s)
			},
		},
		Objects: related.Source{
			Read: read(r.from),
			Select: func(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
				at := r.from.ref(types.NamespacedName{Namespace: namespace})
				if err := f.checkSelect(r, at.Namespace); err != nil {
					return nil, err
				}
				return origin.Cache(at.GVR()).Select(at.Namespace, s)
			},
		},
	})
}

// learn fills in what is known of a related object but for the objects themselves, and reports whether it is a copy
// from the other side.
func (f *finder) learn(c *copySync) (isCopy bool) {
	is, cluster := c.record().plain(), f.view.id.Cluster
	if r, ok := f.view.stored.records[is]; ok {
		c.recorded = &r
	}
	c.byAgent = c.recorded == nil && f.view.stored.isAgents(c)
	isCopy = f.copies[Record{Origin: is.Origin, From: is.From}]
	for _, h := range f.in.Holders.Holdings(c.cluster, c.from) {
		switch {
		case h.Kept && h.Origin != is.Origin && h.To.Plain() == is.From:
			isCopy = true
		case h.Primary.Cluster != cluster:
			c.originIsForeign, c.othersRefer = c.originIsForeign || h.Kept, true
		case h.State != f.secret.name && h.plain() == is:
			// Who only refers to it may have been refused: that a copy is made, or about to be, a state tells.
			c.hasSiblings = c.hasSiblings || h.Kept || h.Primary.Name == ""
			c.siblingsKeep = c.siblingsKeep || h.Kept && h.Primary.Name != ""
		}
	}
	if is.Origin == v1alpha1.OriginKCP { // On the other side each workspace has its own.
		c.copyIsForeign = slices.ContainsFunc(f.in.Holders.Holdings("", c.to),
			func(h Holding) bool { return h.Kept && h.Primary.Cluster != cluster })
	}
	return isCopy
}

// look looks up a related object and its copy, and notes it if the consumer may name it: else it would be kept from
// whom it belongs to. What was copied before is looked at wherever it is. It reports whether the object is the copy of
// one of a consumer, which is an origin of nothing: it could be another workspace's, or its copy could be synced in
// turn.
func (f *finder) look(c *copySync) (isCopy bool, err error) {
	origin, other := f.in.of(c.rule.origin)
	was := c.isMade() || c.byAgent
	if below, _ := c.onService(); !was {
		if c.unread, err = f.checkNamespace(c.rule, below.Namespace); err != nil {
			return false, err
		}
	}
	if c.unread == nil || c.rule.origin == v1alpha1.OriginKCP {
		if c.origin, err = origin.Cache(c.from.GVR()).Get(c.from.NamespacedName()); err != nil {
			return false, err
		}
	}
	if c.unread != nil {
		return false, nil //nolint:nilerr // Whether that matters the plan decides.
	}
	if c.copied, err = other.Cache(c.to.GVR()).Get(c.to.NamespacedName()); err != nil {
		return false, err
	}
	below, u := c.onService()
	c.owned = owns(f.view.copied, u)
	if u != nil && isOfOther(u, f.view.id.Cluster) {
		c.originIsForeign = true
		c.copyIsForeign = c.rule.origin == v1alpha1.OriginKCP
	}
	refused, err := c.rule.names.Admits(f.tenant, below.NamespacedName(), c.owned)
	if c.closed = err; refused != nil {
		c.closed = errors.Wrapf(ErrClosed, "%s: %v", below, refused)
	}
	admitted := c.closed == nil || was
	if admitted && c.rule.origin == v1alpha1.OriginService {
		if isCopy, err = f.in.Holders.IsCopy(c.from); isCopy || err != nil {
			return isCopy, err
		}
	}
	switch {
	case admitted:
		f.holdings = append(f.holdings, Holding{Primary: f.view.id.Primary, State: f.secret.name, Record: c.record()})
	case !errors.Is(c.closed, ErrClosed):
		return false, c.closed
	}
	return false, nil
}

// checkSelect fails if no related objects may be selected in a namespace at the origin. Where one was copied from
// before, they may.
func (f *finder) checkSelect(r *copyRule, namespace string) error {
	if r.origin != v1alpha1.OriginService || slices.ContainsFunc(f.view.stored.list(),
		func(x recorded) bool { return r.relates(x.Record) && x.From.Namespace == namespace }) {
		return nil
	}
	refused, err := f.checkNamespace(r, namespace)
	return cmp.Or(err, refused)
}

// checkNamespace refuses a namespace of the service cluster that is closed, or that would be one too many: each is a
// watch. An object that is being deleted needs none but those of what was copied. An error means that it is not known.
func (f *finder) checkNamespace(r *copyRule, namespace string) (refused, err error) {
	if namespace == "" || namespace == f.tenant.CopyNamespace || f.view.source.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	refused, err = r.names.AdmitsNamespace(f.tenant, namespace)
	switch {
	case errors.Is(err, ErrTooManyNamespaces):
		return err, nil
	case err != nil:
		return nil, err
	case refused != nil:
		return errors.Wrap(ErrClosed, refused.Error()), nil
	case f.in.MayRead != nil && !f.in.MayRead(namespace):
		return ErrTooManyNamespaces, nil
	}
	return nil, nil
}
