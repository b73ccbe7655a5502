package objectsync

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// statusField is the field that is copied by itself where it is a subresource.
	statusField     = "status"
	conditionsField = "conditions"
	observedField   = "observedGeneration"
)

// syncStatus copies the status of the copy up, if it is a subresource on both sides.
func (p *pass) syncStatus(ctx context.Context) error {
	if p.copied == nil || !p.primary.Workspace.Status || !p.primary.Service.Status {
		return nil
	}
	status, err := p.statusOf(&p.primary, p.copied, p.source)
	if err != nil {
		return err
	}
	changed, err := writeStatus(ctx, p.Workspace.Writer, p.workspaceRef(), p.source, p.translated(status))
	if err != nil || !changed {
		return err
	}
	now, err := p.Workspace.Cache(p.primary.Workspace.GroupVersionResource).Get(p.Object)
	if err == nil && now != nil && now.GetResourceVersion() == p.source.GetResourceVersion() {
		return nil // The workspace has pruned all of it, and has nothing new.
	}
	p.tell(ReasonStatusSynced, "The status of the object has been updated")
	return nil
}

// syncRelatedStatus copies the status of a related object, if that is asked for and it is a subresource.
func (p *relatedSync) syncRelatedStatus(ctx context.Context, m relation) error {
	if !m.syncStatus || !m.copies().Status {
		return nil
	}
	status, err := p.statusOf(m.copyRule, m.origin, m.copied)
	if err != nil {
		return err
	}
	_, other := p.sides(m.copyRule.origin)
	_, err = writeStatus(ctx, other.Writer, m.to, m.copied, status)
	return err
}

// statusOf returns the status of an object as it is copied to another one, nil if there is none.
func (p *pass) statusOf(r *copyRule, from, to *unstructured.Unstructured) (any, error) {
	status, err := p.steps(r.mutations).Status(from, to)
	return r.platform.withoutStatus(status), err
}

// writeStatus gives an object a status, nil for none, and reports whether it had another.
func writeStatus(ctx context.Context, w Writer, o Ref, u *unstructured.Unstructured, status any) (bool, error) {
	change := diff(map[string]any{statusField: u.Object[statusField]}, map[string]any{statusField: status})
	if change == nil || status == nil {
		return false, nil
	}
	return true, patch(ctx, w, o, change, statusField)
}

// translated returns a status of the copy with the generations of the consumer's object, in its conditions and beside
// them: what an operator says of a generation of the copy is, in the workspace, said of the generation that the copy
// reflected. It does not change the status. A value that is not the copy's comes from a step of mutation, and stays.
func (p *pass) translated(status any) any {
	fields, ok := status.(map[string]any)
	if !ok || p.source.GetGeneration() == 0 || p.copied.GetGeneration() == 0 {
		return status // Kinds without generations observe none.
	}
	copied, source := asMap(p.copied.Object[statusField]), asMap(p.source.Object[statusField])
	fields = p.withObserved(fields, copied, source)
	conditions, ok := fields[conditionsField].([]any)
	if !ok {
		return fields
	}
	out := make([]any, 0, len(conditions))
	for _, c := range conditions {
		if m := asMap(c); m != nil {
			c = p.withObserved(m, conditionLike(m, copied), conditionLike(m, source))
		}
		out = append(out, c)
	}
	return merged(fields, map[string]any{conditionsField: out})
}

// conditionLike returns the condition of a status that has the type of another one, nil if there is none.
func conditionLike(c, status map[string]any) map[string]any {
	conditions, _ := status[conditionsField].([]any)
	for _, other := range conditions {
		if m := asMap(other); m != nil && m["type"] == c["type"] {
			return m
		}
	}
	return nil
}

// withObserved returns what has an observed generation with that of the consumer's object, which had another one there
// so far. It does not change it.
func (p *pass) withObserved(fields, copied, source map[string]any) map[string]any {
	g, ok := fields[observedField].(int64)
	if !ok || !same(g, copied[observedField]) {
		return fields
	}
	out := maps.Clone(fields)
	out[observedField] = p.generationOf(g, source[observedField])
	return out
}

// generationOf returns the generation of the consumer's object for one of the copy. If that reflects an earlier object,
// or nobody knows which, what the consumer has seen so far stays: it is at most an earlier generation.
func (p *pass) generationOf(ofCopy int64, soFar any) int64 {
	now := p.source.GetGeneration()
	// A copy in deletion gets no changes any more. It reflects an object that is being deleted, too.
	inStep := (p.source.GetDeletionTimestamp() != nil) == (p.copied.GetDeletionTimestamp() != nil)
	if inStep && !p.updated && ofCopy >= p.copied.GetGeneration() {
		return now
	}
	if was, ok := soFar.(int64); ok && was <= now {
		return was
	}
	return now - 1
}
