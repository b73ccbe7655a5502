package objectsync

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	conditionsField = "conditions"
	observedField   = "observedGeneration"
)

// An observation translates the generations in a status: what an operator says of a generation of the copy is, in the
// workspace, said of the generation of the consumer's object that the copy reflected.
type observation struct {
	source, copied *unstructured.Unstructured
	// current means that the present generation of the copy reflects the present one of the consumer's object.
	current bool
}

// observation returns how to translate the generations in the status of the copy.
func (p *pass) observation() observation {
	// A copy in deletion gets no changes any more. It reflects an object that is being deleted, too.
	inStep := (p.source.GetDeletionTimestamp() != nil) == (p.copied.GetDeletionTimestamp() != nil)
	return observation{source: p.source, copied: p.copied, current: inStep && !p.updated}
}

// translated returns a status with the generations of the consumer's object, in its conditions and beside them. It does
// not change the status. A value that is not the copy's comes from a step of mutation, and stays.
func (o observation) translated(status any) any {
	fields, ok := status.(map[string]any)
	if !ok || o.source.GetGeneration() == 0 || o.copied.GetGeneration() == 0 {
		return status // Kinds without generations observe none.
	}
	copied, source := asMap(o.copied.Object[statusField]), asMap(o.source.Object[statusField])
	fields = o.withObserved(fields, copied, source)
	conditions, ok := fields[conditionsField].([]any)
	if !ok {
		return fields
	}
	out := make([]any, 0, len(conditions))
	for _, c := range conditions {
		if m := asMap(c); m != nil {
			c = o.withObserved(m, conditionLike(m, copied), conditionLike(m, source))
		}
		out = append(out, c)
	}
	fields = maps.Clone(fields)
	fields[conditionsField] = out
	return fields
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
func (o observation) withObserved(fields, copied, source map[string]any) map[string]any {
	g, ok := fields[observedField].(int64)
	if !ok || !same(g, copied[observedField]) {
		return fields
	}
	out := maps.Clone(fields)
	out[observedField] = o.generation(g, source[observedField])
	return out
}

// generation returns the generation of the consumer's object for one of the copy. If that reflects an earlier object,
// or nobody knows which, what the consumer has seen so far stays: it is at most an earlier generation.
func (o observation) generation(ofCopy int64, soFar any) int64 {
	now := o.source.GetGeneration()
	if o.current && ofCopy >= o.copied.GetGeneration() {
		return now
	}
	if was, ok := soFar.(int64); ok && was <= now {
		return was
	}
	return now - 1
}
