package objectsync

import (
	"context"
	"maps"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// syncRelated brings the copy of a related object into step.
func (p *pass) syncRelated(ctx context.Context, m relation, both primaries) error {
	if err := p.admit(m, both); err != nil {
		return err
	}
	if err := p.adopt(m); err != nil {
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
	lost := last == nil && m.related.origin == v1alpha1.OriginKCP && p.isMarked(m.from, m.copied)
	found := last == nil && p.existing != v1alpha1.ExistingObjectsOverwrite && !p.shares(m)
	if lost || found {
		last = desired // As for the primary: the state of a copy of ours was lost, or the copy was there before us.
	}
	change := m.platform.change(last, desired)
	var next *slot
	if change != nil || last == nil || lost || found {
		s, err := p.state.slotOf(p.subjectOf(m.record()), m.from.apiVersion(), desired)
		if err != nil {
			return err
		}
		if err := p.state.hasRoomFor(s); err != nil {
			return err // What cannot be remembered of a copy would never be taken out of it again.
		}
		next = &s
	}
	if body := needed(change, m.copied.Object); body != nil {
		if err := patch(ctx, other.Writer, m.to, body); err != nil {
			return err
		}
	}
	if next != nil {
		p.state.fill(*next)
	}
	p.remember(m)
	return p.syncRelatedStatus(ctx, m)
}

// createRelated makes copies of related objects that have none. That they are about to be made is remembered before.
func (p *pass) createRelated(ctx context.Context, fresh []relation, both primaries) error {
	var errs []error
	made, before := map[int]map[string]any{}, p.state.clone()
	for i, m := range fresh {
		if err := p.admit(m, both); err != nil {
			errs = append(errs, err)
			continue
		}
		desired, err := p.desired(m, m.target())
		if err == nil && !p.recorded(m) { // What was copied is what a hidden copy has, until it is made again.
			err = p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.expect(m)
		made[i] = desired
	}
	if len(made) == 0 {
		return oneOf(errs)
	}
	if err := p.save(ctx, p.state); err != nil {
		// So that what is remembered of others can be saved, and the consumer is told of none that is not there.
		p.state = before
		return oneOf(append(errs, err))
	}
	return oneOf(append(errs, p.createExpected(ctx, fresh, made)...))
}

// createExpected makes copies of related objects. The state says already that they are about to be made.
func (p *pass) createExpected(ctx context.Context, fresh []relation, expected map[int]map[string]any) (errs []error) {
	there := map[Record]bool{} // One object can have several identifiers.
	for i, m := range fresh {
		desired, ok := expected[i]
		if !ok {
			continue
		}
		if there[m.record().plain()] {
			p.remember(m)
			continue
		}
		if err := p.createOneRelated(ctx, m, desired); err != nil {
			errs = append(errs, err)
			continue
		}
		there[m.record().plain()] = true
		p.remember(m)
		if err := p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired); err != nil {
			errs = append(errs, err)
		}
		if err := p.holdOrigin(ctx, m); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
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
	mutated, err := p.steps(m.mutations).Spec(m.origin, target)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot change %s", m.from)
	}
	out := content(mutated, omitted(m.origins())...)
	if m.related.origin == v1alpha1.OriginKCP && m.copies().GroupVersionResource == Secrets && empowers(out) {
		return nil, errors.Wrapf(ErrCredential, "%s", m.from)
	}
	return out, nil
}

// holdOrigin keeps a related object of the workspace from going before its copy. It is remembered first: if the answer
// is lost, and the consumer refers to another object by the next pass, nobody would let go of it.
func (p *pass) holdOrigin(ctx context.Context, m relation) error {
	if m.related.origin != v1alpha1.OriginKCP || hasFinalizer(m.origin) {
		return nil
	}
	stored := p.stored.records.hasSame(m.record()) || p.stored.pending.hasSame(m.record())
	p.remember(m)
	if !stored {
		if err := p.save(ctx, p.state); err != nil {
			return err
		}
	}
	return p.hold(ctx, m.from, m.origin)
}

// createOneRelated creates the copy of a related object. If that fails, the copy stays recorded as about to be made, so
// that the next try writes nothing but the copy.
func (p *pass) createOneRelated(ctx context.Context, m relation, desired map[string]any) error {
	u := &unstructured.Unstructured{Object: maps.Clone(desired)}
	u.Object["metadata"] = maps.Clone(asMap(desired["metadata"]))
	if u.Object["metadata"] == nil || len(asMap(u.Object["metadata"])) == 0 {
		u.Object["metadata"] = map[string]any{}
	}
	t := m.target()
	u.SetGroupVersionKind(t.GroupVersionKind())
	u.SetNamespace(t.GetNamespace())
	u.SetName(t.GetName())
	p.mark(m, u)
	_, other := p.sides(m.related.origin)
	err := p.create(ctx, other, m.copies(), u)
	if apierrors.IsAlreadyExists(err) {
		if p.recorded(m) || len(p.alike(m.record())) > 0 {
			return p.unseen(ctx, m, other)
		}
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	return errors.Wrapf(err, "cannot create %s", m.to)
}

// unseen returns why a copy that is there is not seen: the watch does not show it yet, or the workspace hides it. A
// permission claim may show only objects with some labels.
func (p *pass) unseen(ctx context.Context, m relation, other Side) error {
	if m.related.origin == v1alpha1.OriginService {
		if _, err := other.Writer.Live(ctx, m.to); IsMissing(err, m.to.Name) {
			return newHiddenRefusal(m.to)
		}
	}
	return awaited(m)
}

// syncRelatedStatus copies the status of a related object, if that is asked for and it is a subresource.
func (p *pass) syncRelatedStatus(ctx context.Context, m relation) error {
	if !m.syncStatus || !m.copies().Status {
		return nil
	}
	status, err := p.steps(m.mutations).Status(m.origin, m.copied)
	if err != nil || status == nil {
		return err
	}
	status = m.platform.withoutStatus(status)
	change := diff(map[string]any{statusField: m.copied.Object[statusField]}, map[string]any{statusField: status})
	if change == nil {
		return nil
	}
	_, other := p.sides(m.related.origin)
	return patch(ctx, other.Writer, m.to, change, statusField)
}
