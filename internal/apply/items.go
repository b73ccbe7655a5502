package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// keySetsMost limits how many sets of key names one list is indexed by. A list has one, and another in each API version
// that changes its keys. Only a target that invents managed fields has more.
const keySetsMost = 8

// partialMost is how long a list may be in which items are looked for that lack a key. It takes a look at each of them.
const partialMost = 256

// A finder finds values by their field paths in documents that do not change meanwhile. It indexes each list when it
// first looks into it, so that looking for all n items of a list takes n steps and not n².
type finder struct {
	lists map[*any]*listIndex // by the first item, as lists cannot be keys
}

// A listIndex holds the positions of the items of a list by their names, for each set of key names.
type listIndex struct {
	items     []any
	positions map[string]map[string]int
}

func newFinder() finder { return finder{lists: map[*any]*listIndex{}} }

// find returns the value at a path, and whether there is one.
func (f finder) find(v any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		var ok bool
		if v, ok = f.step(v, e); !ok {
			return nil, false
		}
	}
	return v, true
}

// gives reports whether a manifest gives the field at a path of a live resource. A key that it leaves to a default,
// such as the protocol of a port, may be any.
func (f finder) gives(v any, p fieldpath.Path) bool {
	for _, e := range p {
		next, ok := f.step(v, e)
		if list, is := v.([]any); !ok && is && e.Key != nil && len(list) <= partialMost {
			i := slices.IndexFunc(list, func(item any) bool { return fits(item, *e.Key) })
			if ok = i >= 0; ok {
				next = list[i]
			}
		}
		if v = next; !ok {
			return false
		}
	}
	return true
}

// fits reports whether an item has one of some keys at least, and none of another value.
func fits(item any, keys value.FieldList) bool {
	m, ok := item.(map[string]any)
	has := 0
	for _, k := range keys {
		v, given := m[k.Name]
		if given && !value.Equals(value.NewValueInterface(v), k.Value) {
			return false
		}
		if given {
			has++
		}
	}
	return ok && has > 0
}

func (f finder) step(v any, e fieldpath.PathElement) (any, bool) {
	if e.FieldName != nil {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		v, ok = m[*e.FieldName]
		return v, ok
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	i := f.position(list, e)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// position returns the index of the first item of a list that a path element selects, -1 if there is none.
func (f finder) position(list []any, e fieldpath.PathElement) int {
	if len(list) == 0 {
		return -1
	}
	if e.Index != nil {
		if *e.Index < 0 || *e.Index >= len(list) {
			return -1
		}
		return *e.Index
	}
	l, ok := f.lists[&list[0]]
	if !ok || len(l.items) != len(list) {
		l = &listIndex{items: list, positions: map[string]map[string]int{}}
		f.lists[&list[0]] = l
	}
	name, ok := elementName(e)
	if !ok {
		return -1
	}
	if i, ok := l.by(e)[name]; ok {
		return i
	}
	return -1
}

// by returns the positions of items by the kind of name that a path element has, nil if there are too many kinds.
func (l *listIndex) by(e fieldpath.PathElement) map[string]int {
	kind := keyNames(e)
	positions, ok := l.positions[kind]
	if ok || len(l.positions) >= keySetsMost {
		return positions
	}
	positions = make(map[string]int, len(l.items))
	for i, item := range l.items {
		name, ok := itemName(e, item)
		if _, taken := positions[name]; ok && !taken {
			positions[name] = i
		}
	}
	l.positions[kind] = positions
	return positions
}

// keyNames returns the names of the keys of a path element as one text. It is empty for an item of a set, which has no
// keys.
func keyNames(e fieldpath.PathElement) string {
	if e.Key == nil {
		return ""
	}
	var names strings.Builder
	names.WriteString("keys")
	for _, k := range *e.Key {
		names.WriteString("/" + k.Name)
	}
	return names.String()
}

// elementName returns the name of the item that a path element selects, and whether it selects one by name.
func elementName(e fieldpath.PathElement) (string, bool) {
	switch {
	case e.Value != nil:
		return canonical((*e.Value).Unstructured())
	case e.Key != nil:
		values := make([]any, 0, len(*e.Key))
		for _, k := range *e.Key {
			values = append(values, k.Value.Unstructured())
		}
		return canonical(values)
	}
	return "", false
}

// itemName returns the name of an item as elementName returns it for a path element that selects it, and whether the
// item has such a name.
func itemName(e fieldpath.PathElement, item any) (string, bool) {
	if e.Value != nil {
		return canonical(item)
	}
	m, ok := item.(map[string]any)
	if !ok || e.Key == nil {
		return "", false
	}
	values := make([]any, 0, len(*e.Key))
	for _, k := range *e.Key {
		v, ok := m[k.Name]
		if !ok {
			return "", false
		}
		values = append(values, v)
	}
	return canonical(values)
}

// canonical returns a text that is the same for equal JSON values, for 1 and 1.0 too.
func canonical(v any) (string, bool) {
	b, err := json.Marshal(v)
	return string(b), err == nil
}
