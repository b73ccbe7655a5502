package objectsync

import (
	"context"
	"maps"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// A relation is one related object in one pass.
type relation struct {
	*copyRule

	from, to Ref

	origin, copied *unstructured.Unstructured // shared; nil if not there
	refused        error                      // why it is not known whether they are there, nil if it is
}

func (m relation) record() Record {
	return Record{Identifier: m.identifier, Origin: m.copyRule.origin, From: m.from, To: m.to}
}

// below returns the one that is on the service cluster, the object at the origin or its copy, nil if it is not there.
func (m relation) below() (Ref, *unstructured.Unstructured) {
	if m.copyRule.origin == v1alpha1.OriginService {
		return m.from, m.origin
	}
	return m.to, m.copied
}

// named adds to a refusal that an error is caused by what the consumer calls the related object.
func (m relation) named(err error) error {
	if r := RefusalOf(err); r != nil {
		if r.Object = m.to; m.copyRule.origin == v1alpha1.OriginKCP {
			r.Object = m.from
		}
	}
	return err
}

// target returns what the copy would be.
func (m relation) target() *unstructured.Unstructured {
	return newCopy(m.to, maps.Clone(m.origin.Object), map[string]any{})
}

// newCopy returns a copy with some content, which it changes, and metadata.
func newCopy(to Ref, content, metadata map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.Object["metadata"] = metadata
	u.SetGroupVersionKind(to.GVR().GroupVersion().WithKind(to.Kind))
	u.SetNamespace(to.Namespace)
	u.SetName(to.Name)
	return u
}

// sides returns the side of the origin of related objects, and that of their copies.
func (p *pass) sides(o v1alpha1.Origin) (origin, other Side) {
	if o == v1alpha1.OriginService {
		return p.Service, p.Workspace.Side
	}
	return p.Workspace.Side, p.Service
}

// clusterOf returns the logical cluster of the origin of related objects, empty for the service cluster.
func clusterOf(o v1alpha1.Origin, workspace string) string {
	if o == v1alpha1.OriginKCP {
		return workspace
	}
	return ""
}

func (p *pass) subjectOf(r Record) subject { return subjectIn(r, p.id.Cluster) }

// subjectIn returns what is remembered for a copy of a related object, by the logical cluster of the workspace.
func subjectIn(r Record, workspace string) subject {
	return subject{
		NamespacedName: r.From.NamespacedName(), cluster: clusterOf(r.Origin, workspace), kind: r.From.groupKind(),
		record: r.plain(),
	}
}

// A relatedSync is the part of a pass that is about related objects.
type relatedSync struct {
	*pass

	view  related.View
	all   []relation
	known map[string]bool       // the identifiers whose objects are all known
	made  map[recordOrigin]bool // the copies of this object, by the side of what they are of, in no version

	tenant related.Tenant
	others map[string]bool // by namespace: see hasOthers
}

func (p *pass) newRelatedSync(view related.View) *relatedSync {
	r := &relatedSync{
		pass: p, view: view, known: map[string]bool{}, made: map[recordOrigin]bool{}, others: map[string]bool{},
	}
	r.tenant = r.newTenant(view.Service.GetNamespace())
	for _, x := range p.state.records.all() {
		r.made[recordOrigin{x.Origin, x.To.Plain()}] = true
	}
	return r
}

// isCopy reports whether what is found at an origin is a copy from the other side, which is an origin of nothing: two
// selectors would copy each other's copies for ever.
func (p *relatedSync) isCopy(m relation) bool {
	other := v1alpha1.OriginKCP
	if m.copyRule.origin == other {
		other = v1alpha1.OriginService
	}
	return p.made[recordOrigin{other, m.from.Plain()}] ||
		slices.ContainsFunc(p.Holders.Holdings(clusterOf(m.copyRule.origin, p.id.Cluster), m.from), func(h Holding) bool {
			return h.Kept && h.Origin == other && h.To.Plain() == m.from.Plain()
		})
}

// relate brings all related objects into step. One that cannot be is no reason to leave others.
func (p *relatedSync) relate(ctx context.Context) error {
	var errs []error
	for _, r := range p.related {
		found, err := p.find(r)
		if apierrors.IsConflict(err) {
			// A cache that is not filled yet: the state would be written once for each identifier that is known by now.
			return err
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.known[r.identifier] = true
		p.all = append(p.all, found...)
	}
	p.whole = len(p.known) == len(p.related)
	present, fresh, refused := divide(p.all)
	errs = append(errs, refused...)
	done := map[Record]bool{} // One object can have several identifiers.
	for _, m := range present {
		if is := m.record().plain(); !done[is] {
			err := p.syncRelated(ctx, m)
			done[is] = err == nil
			errs = append(errs, err)
		}
	}
	errs = append(errs, p.createRelated(ctx, fresh), p.forget(ctx), p.save(ctx, p.state), p.announce(ctx))
	for i := range p.result.Related {
		h := &p.result.Related[i]
		is, _ := p.state.records.get(h.Record)
		h.Kept = is.made
	}
	return oneOf(errs...)
}

// oneOf returns the one error there is, as it is, or an aggregate. A conflict stands for all: an aggregate would hide
// it, and the next pass finds the others again.
func oneOf(errs ...error) error {
	if i := slices.IndexFunc(errs, apierrors.IsConflict); i >= 0 {
		return errs[i]
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return kerrors.NewAggregate(errs)
}

// find returns the related objects of a primary, and notes in the result those that it may name.
func (p *relatedSync) find(r *copyRule) ([]relation, error) {
	all, err := p.resolve(r)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot find related objects %q", r.identifier)
	}
	if p.names += len(all); p.source.GetDeletionTimestamp() == nil && !p.state.fits(p.state.size()) {
		return nil, ErrNoRoom
	}
	origin, other := p.sides(r.origin)
	for i := range all {
		m := &all[i]
		if m.refused, err = p.checkLook(*m); err != nil {
			return nil, err
		}
		if m.refused == nil || r.origin == v1alpha1.OriginKCP {
			if m.origin, err = origin.Cache(m.from.GVR()).Get(m.from.NamespacedName()); err != nil {
				return nil, err
			}
			m.origin = r.platform.withoutSpec(m.origin)
		}
		if m.refused != nil {
			continue
		}
		if m.copied, err = other.Cache(m.to.GVR()).Get(m.to.NamespacedName()); err != nil {
			return nil, err
		}
		if err := p.refer(*m); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// resolve returns the related objects that a rule names, none of which is a copy.
func (p *relatedSync) resolve(r *copyRule) ([]relation, error) {
	origin, _ := p.sides(r.origin)
	names, err := r.rule.Names(p.view, related.Finder{
		Namespaces: func(s labels.Selector) ([]*unstructured.Unstructured, error) {
			return origin.Cache(Namespaces).Select("", s)
		},
		Objects: func(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
			at := r.origins().ref(types.NamespacedName{Namespace: namespace})
			if err := p.checkSelect(r, at.Namespace); err != nil {
				return nil, err
			}
			return origin.Cache(at.GVR()).Select(at.Namespace, s)
		},
	})
	var all []relation
	for _, n := range names {
		m := relation{copyRule: r, from: r.origins().ref(n.From), to: r.copies().ref(n.To)}
		if !p.isCopy(m) {
			all = append(all, m)
		}
	}
	return all, err
}

// divide tells related objects that have copies from those that need one, and returns why some are not looked for. What
// is not at the origin, or being deleted there, is neither. What is not in the workspace is not missed. What may be in
// a closed namespace is refused whether or not it is there, which is nothing for a consumer to find out.
func divide(all []relation) (present, fresh []relation, refused []error) {
	for _, m := range all {
		switch {
		case m.refused != nil && (m.copyRule.origin == v1alpha1.OriginService || m.origin != nil):
			refused = append(refused, m.refused)
		case m.refused != nil, m.origin == nil, m.origin.GetDeletionTimestamp() != nil:
		case m.copied == nil:
			fresh = append(fresh, m)
		case m.copied.GetDeletionTimestamp() == nil:
			present = append(present, m)
		}
	}
	return present, fresh, refused
}
