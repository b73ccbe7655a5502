package objectsync

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A relation is one related object in one pass.
type relation struct {
	*related
	match

	origin, copied *unstructured.Unstructured // shared; nil if not there
}

func (m relation) record() Record {
	return Record{Identifier: m.identifier, Origin: m.related.origin, From: m.from, To: m.to}
}

// sides returns the side of the origin of related objects, and that of their copies.
func (p *pass) sides(o v1alpha1.Origin) (origin, other Side) {
	if o == v1alpha1.OriginService {
		return p.Service, p.Workspace.Side
	}
	return p.Workspace.Side, p.Service
}

// clusterOf returns the logical cluster of the origin of related objects, empty for the service cluster.
func (p *pass) clusterOf(o v1alpha1.Origin) string {
	if o == v1alpha1.OriginKCP {
		return p.id.Cluster
	}
	return ""
}

func (p *pass) subjectOf(r Record) subject {
	return subject{NamespacedName: r.From.NamespacedName(), cluster: p.clusterOf(r.Origin), kind: r.From.groupKind()}
}

// relate brings all related objects into step. One that cannot be is no reason to leave others.
func (p *pass) relate(ctx context.Context, both primaries) error {
	var errs []error
	known := map[string]bool{} // the identifiers whose objects are all known
	var all []relation
	for _, r := range p.related {
		found, err := p.find(r, both)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		known[r.identifier] = true
		all = append(all, found...)
	}
	present, fresh := p.divide(all)
	for _, m := range present {
		if err := p.carry(ctx, m, both); err != nil {
			errs = append(errs, err)
		}
	}
	if err := p.carryNew(ctx, fresh, both); err != nil {
		errs = append(errs, err)
	}
	if err := p.forget(ctx, all, known); err != nil {
		errs = append(errs, err)
	}
	if err := p.save(ctx, p.state); err != nil {
		errs = append(errs, err)
	}
	if err := p.announce(ctx, all); err != nil {
		errs = append(errs, err)
	}
	return oneOf(errs)
}

// oneOf returns the one error there is, as it is, or an aggregate.
func oneOf(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return kerrors.NewAggregate(errs)
}

// find returns the related objects of a primary, and notes them in the result.
func (p *pass) find(r *related, both primaries) ([]relation, error) {
	origin, other := p.sides(r.origin)
	matches, err := r.resolve(both, origin)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot find related objects %q", r.identifier)
	}
	var out []relation
	for _, m := range matches {
		x := relation{related: r, match: m}
		p.result.Related = append(p.result.Related, Holding{Primary: p.me(), Record: x.record()})
		if x.origin, err = origin.Cache(m.from.GVR()).Get(m.from.NamespacedName()); err != nil {
			return nil, err
		}
		if x.copied, err = other.Cache(m.to.GVR()).Get(m.to.NamespacedName()); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// divide tells related objects that have copies from those that need one. What is not at the origin, or being deleted there, is neither.
func (p *pass) divide(all []relation) (present, fresh []relation) {
	for _, m := range all {
		switch {
		case m.origin == nil || m.origin.GetDeletionTimestamp() != nil:
		case m.copied == nil:
			fresh = append(fresh, m)
		case m.copied.GetDeletionTimestamp() == nil:
			present = append(present, m)
		}
	}
	return present, fresh
}

// admit says whether a related object may be copied to where it is to be.
func (p *pass) admit(m relation, both primaries) error {
	if p.recorded(m) {
		return nil
	}
	for _, h := range p.Holders.Holdings(p.clusterOf(m.related.origin), m.from) {
		if h.Primary.Cluster != p.id.Cluster {
			return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.from)
		}
	}
	if m.copied != nil && !p.shares(m) {
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	if m.related.origin == v1alpha1.OriginService && m.chosen && !p.concerns(m.origin, both) {
		return errors.Wrapf(ErrForeign, "%s was there before the object that refers to it", m.from)
	}
	return nil
}

// concerns says whether an object of the service cluster, whose name the consumer alone has chosen, has come about for the consumer: it is in
// a namespace of the workspace, or it was made after the copy, or it belongs to the copy or names it.
func (p *pass) concerns(u *unstructured.Unstructured, both primaries) bool {
	ns, c := u.GetNamespace(), both.service
	if strings.Contains(ns, p.id.Cluster) || p.Workspace.Path != "" && strings.Contains(ns, strings.ReplaceAll(p.Workspace.Path, ":", "-")) {
		return true
	}
	if !olderThan(u, c) || ownedBy(u, c) {
		return true
	}
	names := func(_, value string) bool { return c.GetName() != p.Object.Name && value == c.GetName() }
	return anyOf(u.GetLabels(), names) || anyOf(u.GetAnnotations(), names)
}

func anyOf(m map[string]string, is func(key, value string) bool) bool {
	for k, v := range m {
		if is(k, v) {
			return true
		}
	}
	return false
}

// recorded says whether a related object has been copied for this primary before.
func (p *pass) recorded(m relation) bool {
	return slices.Contains(p.state.records, m.record()) || p.state.get(p.subjectOf(m.record())) != nil
}

// shares says whether another object of the workspace has the same copy of the same related object.
func (p *pass) shares(m relation) bool {
	for _, h := range p.Holders.Holdings(p.clusterOf(m.related.origin), m.from) {
		if h.Primary != p.me() && h.Primary.Cluster == p.id.Cluster && h.To == m.to && h.From == m.from {
			return true
		}
	}
	return false
}

// olderThan says whether one object was made before another. One without a time is new.
func olderThan(a, b *unstructured.Unstructured) bool {
	x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return !x.IsZero() && (y.IsZero() || x.Before(&y))
}

func ownedBy(u, owner *unstructured.Unstructured) bool {
	for _, r := range u.GetOwnerReferences() {
		if r.UID != "" && r.UID == owner.GetUID() {
			return true
		}
	}
	return false
}

// carry brings the copy of a related object into step.
func (p *pass) carry(ctx context.Context, m relation, both primaries) error {
	if err := p.admit(m, both); err != nil {
		return err
	}
	if err := p.holdOrigin(ctx, m); err != nil {
		return err
	}
	desired, err := p.desired(m, m.copied)
	if err != nil {
		return err
	}
	var last map[string]any
	if u := p.state.get(p.subjectOf(m.record())); u != nil {
		last = content(u, omitted(m.origins())...)
	}
	_, other := p.sides(m.related.origin)
	change := diff(last, desired)
	if body := needed(change, m.copied.Object); body != nil {
		if err := patch(ctx, other.Writer, m.to, body); err != nil {
			return err
		}
	}
	if change != nil || last == nil {
		if err := p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired); err != nil {
			return err
		}
	}
	p.remember(m)
	return p.carryStatus(ctx, m)
}

// carryNew makes copies of related objects that have none. They are remembered before they are made.
func (p *pass) carryNew(ctx context.Context, fresh []relation, both primaries) error {
	var errs []error
	made := map[int]map[string]any{}
	for i, m := range fresh {
		if err := p.admit(m, both); err != nil {
			errs = append(errs, err)
			continue
		}
		desired, err := p.desired(m, m.target())
		if err == nil {
			err = p.holdOrigin(ctx, m)
		}
		if err == nil {
			err = p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.remember(m)
		made[i] = desired
	}
	if len(made) == 0 {
		return oneOf(errs)
	}
	if err := p.save(ctx, p.state); err != nil {
		return oneOf(append(errs, err))
	}
	for i, m := range fresh {
		if desired, ok := made[i]; ok {
			if err := p.makeRelated(ctx, m, desired); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return oneOf(errs)
}

// target returns what the copy of a related object would be.
func (m relation) target() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: maps.Clone(m.origin.Object)}
	u.Object["metadata"] = map[string]any{}
	u.SetGroupVersionKind(m.to.GVR().GroupVersion().WithKind(m.to.Kind))
	u.SetNamespace(m.to.Namespace)
	u.SetName(m.to.Name)
	return u
}

func (p *pass) desired(m relation, target *unstructured.Unstructured) (map[string]any, error) {
	mutated, err := m.mutations.Spec(m.origin, target)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot change %s", m.from)
	}
	return content(mutated, omitted(m.origins())...), nil
}

// holdOrigin keeps a related object of the workspace from going before its copy.
func (p *pass) holdOrigin(ctx context.Context, m relation) error {
	if m.related.origin != v1alpha1.OriginKCP {
		return nil
	}
	return p.hold(ctx, m.from, m.origin)
}

// makeRelated creates the copy of a related object. If its name is taken after all, it is not ours.
func (p *pass) makeRelated(ctx context.Context, m relation, desired map[string]any) error {
	u := &unstructured.Unstructured{Object: maps.Clone(desired)}
	u.Object["metadata"] = maps.Clone(asMap(desired["metadata"]))
	if u.Object["metadata"] == nil || len(asMap(u.Object["metadata"])) == 0 {
		u.Object["metadata"] = map[string]any{}
	}
	t := m.target()
	u.SetGroupVersionKind(t.GroupVersionKind())
	u.SetNamespace(t.GetNamespace())
	u.SetName(t.GetName())
	_, other := p.sides(m.related.origin)
	err := p.create(ctx, other, m.copies(), u)
	if apierrors.IsAlreadyExists(err) {
		p.disown(m.record())
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	return errors.Wrapf(err, "cannot create %s", m.to)
}

// carryStatus copies the status of a related object, if that is asked for and it is a subresource.
func (p *pass) carryStatus(ctx context.Context, m relation) error {
	if !m.syncStatus || !m.copies().Status {
		return nil
	}
	status, err := m.mutations.Status(m.origin, m.copied)
	if err != nil || status == nil {
		return err
	}
	change := diff(map[string]any{statusField: m.copied.Object[statusField]}, map[string]any{statusField: status})
	if change == nil {
		return nil
	}
	_, other := p.sides(m.related.origin)
	return patch(ctx, other.Writer, m.to, change, statusField)
}
