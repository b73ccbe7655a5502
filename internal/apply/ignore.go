package apply

import (
	"maps"
	"slices"

	xpfieldpath "github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// wildcard is an element of a path that stands for all fields of a map, or all items of a list.
const wildcard = "*"

// Ignored are fields of a manifest that are left to others as long as a resource has them.
type Ignored struct {
	// Paths lead to the fields through the manifest. All that is below them is left to others, too.
	Paths []xpfieldpath.Segments
	// Label is a label that is never left to others, whatever the paths.
	Label string
}

// Payload returns what an apply sends of a manifest to a live resource, which is nil if there is none. Fields that are
// left to others are not in it if another manager owns them, and have the live value if nobody else does: a field
// without any owner would be removed. It may be the manifest itself.
func (i Ignored) Payload(live, manifest *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	p, err := i.payload(live, manifest, manager)
	if err != nil || p.content == nil {
		return manifest, err
	}
	return (&unstructured.Unstructured{Object: p.content}).DeepCopy(), nil
}

// A payload is what is sent of a manifest to a live resource, and what that leaves to others.
type payload struct {
	*finder

	// content is nil if nothing is left to others, and shares values with the manifest and the resource.
	content map[string]any
	// fields are those of the resource that paths lead to, or that paths lead into if they cannot be owned in part.
	fields *fieldpath.Set
	// seen is what of these fields makes a difference, by their paths: whether the resource has them and, of one that
	// cannot be owned in part, its value without the parts that are left to others.
	seen map[string]any

	all, others *fieldpath.Set // the fields of the resource that have a manager, and another one than ours
	label       fieldpath.Path
}

func (i Ignored) payload(live, manifest *unstructured.Unstructured, manager string) (*payload, error) {
	p := &payload{finder: newFinder(), fields: fieldpath.NewSet(), seen: map[string]any{}}
	if live == nil || len(i.Paths) == 0 {
		return p, nil
	}
	p.label = fieldpath.MakePathOrDie("metadata", "labels", i.Label)
	entries := live.GetManagedFields()
	all, err := fieldsOf(entries...)
	if err != nil {
		return nil, err
	}
	others, err := fieldsOf(slices.DeleteFunc(entries, appliedBy(manager))...)
	if err != nil {
		return nil, err
	}
	p.all, p.others = all, others
	p.content, _ = p.ofMap(nil, manifest.Object, live.Object, i.Paths)
	return p, nil
}

// of returns what is sent of a value that the manifest gives at a path, and whether anything is. rest is what is left
// of the ignored paths there.
func (p *payload) of(at fieldpath.Path, want, is any, rest []xpfieldpath.Segments) (any, bool) {
	if len(rest) == 0 || identifying.Has(at) || at.Equals(p.label) {
		return want, true
	}
	whole := slices.ContainsFunc(rest, isEnd)
	if whole {
		p.fields.Insert(at)
	}
	if is == nil || isEmpty(is) {
		p.seen[at.String()] = false
		return want, true
	}
	parts := below(p.all, at)
	list, isList := is.([]any)
	switch w := want.(type) {
	case map[string]any:
		if m, ok := is.(map[string]any); ok && (!parts.Empty() || !p.all.Has(at)) {
			return p.ofMap(at, w, m, rest)
		}
	case []any:
		if like, ok := naming(parts); ok && isList {
			return p.ofList(at, w, list, like, rest)
		}
	default:
		if !whole {
			return want, true // The path leads nowhere.
		}
	}
	p.fields.Insert(at)
	p.seen[at.String()] = true
	switch {
	case !whole:
		p.seen[at.String()] = graft(is, want, rest)
		return graft(want, is, rest), true
	case p.others.Has(at) || !below(p.others, at).Empty():
		return nil, false
	}
	return is, true
}

// ofMap returns what is sent of a map, each field of which has an owner of its own.
func (p *payload) ofMap(
	at fieldpath.Path, want, is map[string]any, rest []xpfieldpath.Segments,
) (map[string]any, bool) {
	out := map[string]any{}
	for k, w := range want {
		next := append(at[:len(at):len(at)], fieldpath.FieldNameElement(k))
		if v, sent := p.of(next, w, is[k], follow(rest, fieldStep(k))); sent {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return out, len(want) == 0
	}
	if len(at) > 0 && at[len(at)-1].Key != nil { // Without its keys a server does not know the item.
		for _, key := range *at[len(at)-1].Key {
			if w, given := want[key.Name]; given {
				out[key.Name] = w
			}
		}
	}
	return out, true
}

// ofList returns what is sent of a list whose items have owners of their own, and are named like a path element.
func (p *payload) ofList(
	at fieldpath.Path, want, is []any, like fieldpath.PathElement, rest []xpfieldpath.Segments,
) (any, bool) {
	var out []any
	for i, w := range want {
		e, named := elementOf(w, like)
		n := p.position(is, e)
		if !named { // It leaves a key to a default.
			n = similar(is, e)
		}
		var live any
		if 0 <= n && n < len(is) {
			live = is[n]
			e, _ = elementOf(live, like)
		}
		if v, sent := p.of(append(at[:len(at):len(at)], e), w, live, follow(rest, itemStep(i))); sent {
			out = append(out, v)
		}
	}
	return out, len(out) > 0 || len(want) == 0
}

// naming returns how managed fields name the items of a list, and whether they do: otherwise it is owned as a whole.
func naming(parts *fieldpath.Set) (like fieldpath.PathElement, named bool) {
	take := func(e fieldpath.PathElement) { like = e }
	parts.Members.Iterate(take)
	parts.Children.Iterate(take)
	return like, like.Key != nil || like.Value != nil
}

// graft returns a value with what another one has where paths lead that both have.
func graft(to, from any, rest []xpfieldpath.Segments) any {
	if slices.ContainsFunc(rest, isEnd) {
		return from
	}
	switch to := to.(type) {
	case map[string]any:
		from, _ := from.(map[string]any)
		to = maps.Clone(to)
		for k, v := range from {
			if was, both := to[k]; both {
				to[k] = graft(was, v, follow(rest, fieldStep(k)))
			}
		}
		return to
	case []any:
		from, _ := from.([]any)
		to = slices.Clone(to)
		for i := range min(len(to), len(from)) {
			to[i] = graft(to[i], from[i], follow(rest, itemStep(i)))
		}
		return to
	}
	return to
}

// follow returns what is left of paths after a step. One that has ended before leads everywhere below.
func follow(paths []xpfieldpath.Segments, step xpfieldpath.Segment) (rest []xpfieldpath.Segments) {
	for _, s := range paths {
		switch {
		case isEnd(s):
			rest = append(rest, s)
		case s[0] == step, s[0].Field == wildcard:
			rest = append(rest, s[1:])
		}
	}
	return rest
}

func fieldStep(name string) xpfieldpath.Segment {
	return xpfieldpath.Segment{Type: xpfieldpath.SegmentField, Field: name}
}

func itemStep(i int) xpfieldpath.Segment {
	return xpfieldpath.Segment{Type: xpfieldpath.SegmentIndex, Index: uint(i)} //nolint:gosec // It is no less than 0.
}

func isEnd(s xpfieldpath.Segments) bool { return len(s) == 0 }

// below returns the fields of a set below a path.
func below(s *fieldpath.Set, p fieldpath.Path) *fieldpath.Set {
	for _, e := range p {
		s = s.WithPrefix(e)
	}
	return s
}

// appliedBy returns which entries of managed fields are of what a manager has applied to the resource itself.
func appliedBy(manager string) func(metav1.ManagedFieldsEntry) bool {
	return func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	}
}
