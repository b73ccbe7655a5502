package apply

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Ignored are fields of a manifest that are left to others as long as a resource has them.
type Ignored struct {
	// Paths lead to the fields, by the names of fields and the indexes of items of the manifest. * stands for any.
	Paths [][]string
	// Label is a label that is never left to others, whatever the paths.
	Label string
}

// Payload returns what an apply sends of a manifest to a live resource, which is nil if there is none. Fields that are
// left to others are not in it if another manager owns them, and have the live value if nobody else does: a field
// without any owner would be removed. It may be the manifest itself.
func (i Ignored) Payload(live, manifest *unstructured.Unstructured, name string) (*unstructured.Unstructured, error) {
	p, err := i.payload(live, manifest, name)
	if err != nil || p.content == nil {
		return manifest, err
	}
	return (&unstructured.Unstructured{Object: p.content}).DeepCopy(), nil
}

// A payload is what is sent of a manifest to a live resource, and what that leaves to others.
type payload struct {
	*finder

	content map[string]any // shares values with manifest and resource; nil if nothing is left to others
	label   fieldpath.Path
	byIndex bool // it is of a value that is owned as a whole, in which items have no names

	all, others *fieldpath.Set // the fields that have a manager, and another one than ours
	// fields are those that paths lead to, or lead into if they are owned as a whole. seen is what of them makes a
	// difference, by their paths: whether they are there or, if a path leads into them, the rest of their values.
	fields *fieldpath.Set
	seen   map[string]any
}

func (i Ignored) payload(live, manifest *unstructured.Unstructured, manager string) (p *payload, err error) {
	p = &payload{finder: newFinder(), fields: fieldpath.NewSet(), seen: map[string]any{}}
	if live == nil || len(i.Paths) == 0 {
		return p, nil
	}
	entries := live.GetManagedFields()
	if p.all, err = fieldsOf(entries...); err != nil {
		return nil, err
	}
	p.others, _ = fieldsOf(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})...) // All of them have just been read.
	p.label = fieldpath.MakePathOrDie("metadata", "labels", i.Label)
	p.content, _ = p.ofMap(nil, manifest.Object, live.Object, i.Paths)
	return p, nil
}

// of returns what is sent of a value that the manifest gives at a path, and whether anything is. rest is what is left
// of the ignored paths there.
func (p *payload) of(here fieldpath.Path, want, is any, rest [][]string) (any, bool) {
	if len(rest) == 0 || identifying.Has(here) || here.Equals(p.label) {
		return want, true
	}
	leads := slices.ContainsFunc(rest, func(path []string) bool { return len(path) == 0 })
	if leads {
		p.fields.Insert(here)
	}
	if is == nil || isEmpty(is) {
		p.seen[here.String()] = false
		return want, true
	}
	parts := below(p.all, here)
	switch w := want.(type) {
	case map[string]any:
		if m, ok := is.(map[string]any); ok && (!parts.Empty() || !p.all.Has(here)) {
			return p.ofMap(here, w, m, rest)
		}
	case []any:
		like, named := naming(parts)
		if l, ok := is.([]any); ok && (named || p.byIndex) {
			return p.ofList(here, w, l, like, rest)
		}
	default:
		if !leads {
			return want, true
		}
	}
	p.seen[here.String()] = true
	switch {
	case leads && (p.others.Has(here) || !below(p.others, here).Empty()):
		return nil, false
	case leads:
		return is, true
	case p.byIndex:
		return want, true
	}
	return p.ofPart(here, want, is, rest)
}

// ofPart returns what is sent of a value that is owned as a whole, and that paths lead into.
func (p *payload) ofPart(here fieldpath.Path, want, is any, rest [][]string) (any, bool) {
	part := &payload{finder: p.finder, byIndex: true, seen: map[string]any{}}
	part.all, part.others, part.fields = fieldpath.NewSet(), fieldpath.NewSet(), fieldpath.NewSet()
	p.fields.Insert(here)
	p.seen[here.String()], _ = part.of(here, is, want, rest)
	return part.of(here, want, is, rest)
}

// ofMap returns what is sent of a map whose fields have owners of their own.
func (p *payload) ofMap(here fieldpath.Path, want, is map[string]any, rest [][]string) (map[string]any, bool) {
	out := map[string]any{}
	for k, w := range want {
		next := slices.Concat(here, fieldpath.Path{fieldpath.FieldNameElement(k)})
		if v, sent := p.of(next, w, is[k], follow(rest, k)); sent {
			out[k] = v
		}
	}
	if len(out) > 0 && len(here) > 0 && here[len(here)-1].Key != nil {
		for _, key := range *here[len(here)-1].Key { // Without them a server does not know the item.
			if w, given := want[key.Name]; given {
				out[key.Name] = w
			}
		}
	}
	return out, len(out) > 0 || len(want) == 0
}

// ofList returns what is sent of a list whose items have owners of their own, and are named like a path element.
func (p *payload) ofList(here fieldpath.Path, want, is []any, like fieldpath.PathElement, rest [][]string) (any, bool) {
	var out []any
	for i, w := range want {
		e, named := fieldpath.IndexElement(i), true
		if !p.byIndex {
			e, named = elementOf(w, like)
		}
		live, _ := at(is, p.position(is, e))
		if !named { // It leaves a key to a default.
			if live, named = at(is, similar(is, e)); named {
				e, _ = elementOf(live, like)
			}
		}
		if v, sent := p.of(append(here[:len(here):len(here)], e), w, live, follow(rest, strconv.Itoa(i))); sent {
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

// follow returns what is left of paths after a step. One that has ended before leads everywhere below.
func follow(paths [][]string, step string) (rest [][]string) {
	for _, path := range paths {
		switch {
		case len(path) == 0:
			rest = append(rest, path)
		case path[0] == step, path[0] == "*":
			rest = append(rest, path[1:])
		}
	}
	return rest
}

// below returns the fields of a set below a path.
func below(s *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, e := range path {
		s = s.WithPrefix(e)
	}
	return s
}
