package objectsync

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const (
	// statusField is the field that is copied by itself where it is a subresource.
	statusField     = "status"
	conditionsField = "conditions"
	observedField   = "observedGeneration"
)

// contentOf returns what the copy is to have of the object at the origin.
func (p planner) contentOf(c *copySync, target *unstructured.Unstructured) (map[string]any, error) {
	mutated, err := c.rule.mutations.Spec(p.view.workspace, c.origin, target)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot change %s", c.from)
	}
	out := content(mutated, c.rule.from.Status)
	if c.rule.origin == v1alpha1.OriginKCP && c.rule.to.GroupVersionResource == Secrets && empowers(out) {
		return nil, errors.Wrapf(ErrCredential, "%s", c.from)
	}
	return out, nil
}

// statusOf returns the status of an object as it is copied to another one, nil if there is none.
func (p planner) statusOf(r *copyRule, from, to *unstructured.Unstructured) (any, error) {
	status, err := r.mutations.Status(p.view.workspace, from, to)
	with := &unstructured.Unstructured{Object: map[string]any{statusField: status}}
	return r.platform.without(statusField, with).Object[statusField], err
}

// statusPatch returns the patch that gives an object a status, or none if that is nil. It is nil if nothing differs.
func statusPatch(u *unstructured.Unstructured, status any) map[string]any {
	has, wants := map[string]any{statusField: u.Object[statusField]}, map[string]any{statusField: status}
	for _, m := range []map[string]any{has, wants} {
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	return diff(has, wants)
}

// planStatus returns the patch that the object needs for the status of its copy, if that is a subresource on both
// sides, nil for none. Without a copy there is no status.
func (p planner) planStatus() (map[string]any, error) {
	r, v := &p.syncer.primary, p.view
	switch {
	case !r.from.Status, !r.to.Status:
		return nil, nil //nolint:nilnil // None is needed.
	case v.copied == nil:
		return statusPatch(v.source, nil), nil
	}
	status, err := p.statusOf(r, v.copied, v.source)
	return statusPatch(v.source, v.translated(status)), err
}

// translated returns a status of the copy with the generations of the consumer's object, in all of its conditions and
// beside them: what an operator says of a generation of the copy is, in the workspace, said of the generation that the
// copy reflected. It does not change the status. A value that is not the copy's comes from a step of mutation, and
// stays.
func (v *view) translated(status any) any {
	fields, ok := status.(map[string]any)
	if !ok || v.source.GetGeneration() == 0 || v.copied.GetGeneration() == 0 {
		return status // Kinds without generations observe none.
	}
	copied, source := asMap(v.copied.Object[statusField]), asMap(v.source.Object[statusField])
	return v.inConditions(v.withObserved(fields, copied, source), copied, source, false)
}

// inConditions returns a value of a status with the generations of the consumer's object in the conditions below it. A
// condition may also be of a part, such as a parent of a route. Only a value of field conditions holds them.
func (v *view) inConditions(value, copied, source any, are bool) any {
	switch x := value.(type) {
	case map[string]any:
		if are {
			return v.withObserved(x, asMap(copied), asMap(source))
		}
		if x["kind"] != nil && x["apiVersion"] != nil {
			return x // It is another object, which has generations of its own.
		}
		out := make(map[string]any, len(x))
		for field, inner := range x {
			out[field] = v.inConditions(inner, asMap(copied)[field], asMap(source)[field], field == conditionsField)
		}
		return out
	case []any:
		out := make([]any, 0, len(x))
		for i, item := range x {
			out = append(out, v.inConditions(item, counterpart(item, copied, i), counterpart(item, source, i), are))
		}
		return out
	}
	return value
}

// counterpart returns the item of a list that is at the index of another one and has its type, if any, or else has its
// type elsewhere; nil if there is none.
func counterpart(item, list any, i int) any {
	items, _ := list.([]any)
	is, typed := asMap(item)["type"].(string)
	alike := func(other any) bool { return asMap(other)["type"] == any(is) }
	switch {
	case i < len(items) && (!typed || alike(items[i])):
		return items[i]
	case typed:
		if i = slices.IndexFunc(items, alike); i >= 0 {
			return items[i]
		}
	}
	return nil
}

// withObserved returns what has an observed generation with that of the consumer's object, which had another one there
// so far. It does not change it.
func (v *view) withObserved(fields, copied, source map[string]any) map[string]any {
	g, ok := fields[observedField].(int64)
	if !ok || !same(g, copied[observedField]) {
		return fields
	}
	out := maps.Clone(fields)
	out[observedField] = v.generationOf(g, source[observedField])
	return out
}

// generationOf returns the generation of the consumer's object for one of the copy. If that reflects an earlier object,
// or nobody knows which, what the consumer has seen so far stays: it is at most an earlier generation.
func (v *view) generationOf(ofCopy int64, soFar any) int64 {
	now := v.source.GetGeneration()
	// A copy in deletion gets no changes any more. It reflects an object that is being deleted, too.
	inStep := (v.source.GetDeletionTimestamp() != nil) == (v.copied.GetDeletionTimestamp() != nil)
	if inStep && !v.patched && ofCopy >= v.copied.GetGeneration() {
		return now
	}
	if was, ok := soFar.(int64); ok && was <= now {
		return was
	}
	return now - 1
}

// planAnnotations returns the patch of the object whose annotations tell the consumer which objects of the workspace
// have come from the service cluster, nil for none. What they tell of identifiers stays whose objects are not all
// known. Those that a server would refuse are left out: they take half of the room that others leave to the consumer.
func (p planner) planAnnotations(all []*copySync, unknown map[string]bool, s *state) map[string]any {
	has, want, index := map[string]any{}, map[string]any{}, map[string]int{}
	room := apivalidation.TotalAnnotationSizeLimitB
	for key, value := range p.view.source.GetAnnotations() {
		is, ok := strings.CutPrefix(key, AnnotationRelatedPrefix)
		if ok && !unknown[is[:max(0, strings.LastIndex(is, "."))]] {
			has[key] = value
			continue
		}
		room -= len(key) + len(value)
	}
	room /= 2
	for _, c := range all {
		if c.rule.origin != v1alpha1.OriginService || c.origin == nil || !s.isMade(c.record()) {
			continue
		}
		value := encoded(struct { // in the order of api-syncagent
			Namespace  string `json:"namespace,omitempty"`
			Name       string `json:"name"`
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}{c.to.Namespace, c.to.Name, c.to.GVR().GroupVersion().String(), c.to.Kind})
		name := fmt.Sprintf("%s.%d", c.rule.identifier, index[c.rule.identifier])
		index[c.rule.identifier]++
		room -= len(AnnotationRelatedPrefix) + len(name) + len(value)
		if room >= 0 && len(name) <= validation.LabelValueMaxLength { // So long is the name of a key, too.
			want[AnnotationRelatedPrefix+name] = string(value)
		}
	}
	if change := diff(has, want); change != nil {
		return at([]string{"metadata", "annotations"}, change)
	}
	return nil
}

// ErrCredential means that a Secret would give its consumer a say in the service cluster.
var ErrCredential = errors.New("the Secret is a token for a cluster, by its type or an annotation, and such Secrets " +
	"are not copied")

// lastApplied is what kubectl notes on objects.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// private are the domains whose labels and annotations belong to those who keep one side, and never pass to the other.
var private = []string{"crossplane.io", "kcp.io"}

// passes reports whether a label or annotation is copied.
func passes(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	for _, p := range private {
		if domain == p || strings.HasSuffix(domain, "."+p) {
			return false
		}
	}
	return key != lastApplied
}

// empowers reports whether the content of a Secret makes it a credential of the cluster it is in, or asks for one.
func empowers(content map[string]any) bool {
	kind, _ := content["type"].(string)
	account := asMap(asMap(content["metadata"])["annotations"])[corev1.ServiceAccountNameKey]
	return account != nil || kind == string(corev1.SecretTypeServiceAccountToken) ||
		kind == string(corev1.SecretTypeBootstrapToken)
}

// content returns what of an object is copied: its labels and annotations that pass, and all its other fields but its
// identity and, where that is a subresource, its status. It shares values with the object.
func content(u *unstructured.Unstructured, hasStatus bool) map[string]any {
	out := maps.Clone(u.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(out, field)
	}
	if hasStatus {
		delete(out, statusField)
	}
	metadata := map[string]any{}
	for field, texts := range map[string]map[string]string{"labels": u.GetLabels(), "annotations": u.GetAnnotations()} {
		all := fromTexts(texts)
		maps.DeleteFunc(all, func(key string, _ any) bool { return !passes(key) })
		if len(all) > 0 {
			metadata[field] = all
		}
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	return out
}

// changed returns the patch that makes one content of another, nil if they are the same. Labels and
// annotations go by their names, also the last of them: a copy has others.
func changed(from, to map[string]any) map[string]any {
	metadata := map[string]any{}
	for field := range asMap(from["metadata"]) {
		metadata[field] = map[string]any{}
	}
	maps.Copy(metadata, asMap(to["metadata"]))
	if len(metadata) > 0 {
		to = maps.Clone(to)
		to["metadata"] = metadata
	}
	return diff(from, to)
}
