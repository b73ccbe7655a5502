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
func (p *relatedSync) syncRelated(ctx context.Context, m relation) error {
	if err := p.admit(m); err != nil {
		return err
	}
	desired, err := p.desired(m, m.copied)
	if err != nil {
		return err
	}
	last, isNew := p.lastCopied(m, desired)
	change := m.platform.change(last, desired)
	next := slot{}
	if isNew = isNew || change != nil; isNew {
		if next, err = p.state.slotOf(p.subjectOf(m.record()), m.from.apiVersion(), desired); err != nil {
			return err
		}
	}
	_, other := p.sides(m.copyRule.origin)
	if body := needed(change, m.copied.Object); body != nil {
		if err := patch(ctx, other.Writer, m.to, body); err != nil {
			return p.replace(ctx, m, err)
		}
	}
	if isNew {
		p.state.slots[next.key] = next.value
	}
	p.remember(m, true)
	if err := p.holdOrigin(ctx, m); err != nil {
		return err
	}
	return p.syncRelatedStatus(ctx, m)
}

// replace deletes a copy that a server refuses to change, if another object has taken the place of the one it was made
// of: what cannot be changed differs. The next pass makes it of that one, as if the former had been seen to go.
func (p *relatedSync) replace(ctx context.Context, m relation, refused error) error {
	if !apierrors.IsInvalid(refused) || !p.isReplaced(m) {
		return m.named(refused)
	}
	_, other := p.sides(m.copyRule.origin)
	_, err := p.remove(ctx, other, m.to)
	return m.named(err)
}

// lastCopied returns what of a related object was last copied, and whether that is not remembered. Of a copy of ours
// whose state was lost, and of one that was there before us, what differs stays, as with the primary. A copy that
// another object of the workspace keeps may be behind, and so may one whose creation was not answered: all is copied.
func (p *relatedSync) lastCopied(m relation, desired map[string]any) (last map[string]any, isNew bool) {
	is, known := p.state.records.get(m.record())
	if known && !is.made || !known && len(p.alike(m.record())) > 0 {
		return nil, true
	}
	if last = p.state.last(p.subjectOf(m.record()), m.origins()); last != nil {
		return last, false
	}
	if p.isMarked(m.record(), m.copied) || p.existing != v1alpha1.ExistingObjectsOverwrite {
		last = desired
	}
	return last, true
}

// createRelated makes copies of related objects that have none. That they are about to be made is remembered before.
func (p *relatedSync) createRelated(ctx context.Context, fresh []relation) error {
	var errs []error
	var expected []relation
	contents, before := map[Record]map[string]any{}, p.state.clone()
	for _, m := range fresh {
		if contents[m.record().plain()] != nil {
			continue // One object can have several identifiers.
		}
		desired, err := p.expect(m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		contents[m.record().plain()] = desired
		expected = append(expected, m)
	}
	if len(expected) == 0 {
		return oneOf(errs...)
	}
	if err := p.save(ctx, p.state); err != nil {
		// So that what is remembered of others can be saved, and the consumer is told of none that is not there.
		p.state = before
		return oneOf(append(errs, err)...)
	}
	for _, m := range expected {
		errs = append(errs, p.createOneRelated(ctx, m, contents[m.record().plain()]))
	}
	return oneOf(errs...)
}

// expect remembers that the copy of a related object is about to be made, and returns its content. A copy that has been
// made before stays recorded as it was: what was copied is what a hidden one has, until it is made again.
func (p *relatedSync) expect(m relation) (map[string]any, error) {
	if err := p.admit(m); err != nil {
		return nil, err
	}
	desired, err := p.desired(m, m.target())
	if err != nil {
		return nil, err
	}
	if is, _ := p.state.records.get(m.record()); is.made {
		return desired, nil
	}
	err = p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired)
	if err == nil {
		p.remember(m, false)
	}
	return desired, err
}

// desired returns what the copy is to have of an object, the primary or a related one.
func (p *pass) desired(m relation, target *unstructured.Unstructured) (map[string]any, error) {
	mutated, err := p.steps(m.mutations).Spec(m.origin, target)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot change %s", m.from)
	}
	out := content(mutated, m.origins().Status)
	if m.copyRule.origin == v1alpha1.OriginKCP && m.copies().GroupVersionResource == Secrets && empowers(out) {
		return nil, errors.Wrapf(ErrCredential, "%s", m.from)
	}
	return out, nil
}

// holdOrigin keeps a related object of the workspace from going before its copy. It is remembered first: if the answer
// is lost, and the consumer refers to another object by the next pass, nobody would let go of it.
func (p *relatedSync) holdOrigin(ctx context.Context, m relation) error {
	if m.copyRule.origin != v1alpha1.OriginKCP || HasFinalizer(m.origin) {
		return nil
	}
	if _, stored := p.stored.records.get(m.record()); !stored {
		if err := p.save(ctx, p.state); err != nil {
			return err
		}
	}
	return p.hold(ctx, m.from, m.origin)
}

// createOneRelated creates the copy of a related object, and holds that. If it fails, the copy stays recorded as about
// to be made, so that the next try writes nothing but the copy.
func (p *relatedSync) createOneRelated(ctx context.Context, m relation, desired map[string]any) error {
	labels, annotations := p.marks(m.record())
	metadata := asMap(desired["metadata"])
	u := newCopy(m.to, maps.Clone(desired), map[string]any{
		"labels":      merged(asMap(metadata["labels"]), labels),
		"annotations": merged(asMap(metadata["annotations"]), annotations),
	})
	_, other := p.sides(m.copyRule.origin)
	err := p.create(ctx, other, m.copies(), u)
	if apierrors.IsAlreadyExists(err) {
		if p.recorded(m) || len(p.alike(m.record())) > 0 {
			return p.unseen(ctx, m, other)
		}
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	if err != nil {
		return m.named(errors.Wrapf(err, "cannot create %s", m.to))
	}
	if m.copied, err = p.get(other, m.to); err != nil {
		return err
	}
	p.remember(m, true)
	return oneOf(p.state.put(p.subjectOf(m.record()), m.from.apiVersion(), desired), p.holdOrigin(ctx, m))
}

// unseen returns why a copy that is there is not seen: the watch does not show it yet, or the workspace hides it. A
// permission claim may show only objects with some labels.
func (p *relatedSync) unseen(ctx context.Context, m relation, other Side) error {
	if m.copyRule.origin == v1alpha1.OriginService {
		if _, err := other.Writer.Live(ctx, m.to); isMissing(err, m.to.Name) {
			return newHiddenRefusal(m.to)
		}
	}
	return awaited(m.to)
}
