package expression

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// A reading wraps values as one evaluation reaches them. It sorts the keys of each map once, however often the
// expression goes through it.
type reading struct {
	types.Adapter

	sorted map[uintptr]traits.Lister // by addresses of maps
}

// NativeToValue wraps a value.
func (r reading) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case map[string]any:
		return sortedMap{types.NewStringInterfaceMap(r, v), func() traits.Lister {
			at := reflect.ValueOf(v).Pointer()
			if r.sorted[at] == nil {
				r.sorted[at] = types.NewStringList(r, slices.Sorted(maps.Keys(v)))
			}
			return r.sorted[at]
		}}
	case []any:
		return types.NewDynamicList(r, v)
	}
	return r.Adapter.NativeToValue(v)
}

// A sortedMap is gone through in the order of its keys: cel-go takes that of Go, which is another one each time.
type sortedMap struct {
	traits.Mapper

	keys func() traits.Lister
}

// Iterator goes through the keys.
func (m sortedMap) Iterator() traits.Iterator { return m.keys().Iterator() }

// ordered returns the option by which the maps that an expression makes are sorted, too.
func ordered() cel.ProgramOption {
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if c, ok := i.(interpreter.InterpretableConstructor); ok && c.Type() == types.MapType {
			return sortedLiteral{c}, nil
		}
		return i, nil
	})
}

// A sortedLiteral makes a map.
type sortedLiteral struct {
	interpreter.InterpretableConstructor
}

// Exec makes the map.
func (l sortedLiteral) Exec(f *interpreter.ExecutionFrame) ref.Val {
	v := l.InterpretableConstructor.Exec(f)
	m, ok := v.(traits.Mapper)
	if !ok {
		return v
	}
	return inOrder(m)
}

// A growingMap is one that a comprehension makes.
type growingMap struct {
	traits.MutableMapper
}

// ToImmutableMap returns the map when it is made.
func (m growingMap) ToImmutableMap() traits.Mapper { return inOrder(m.MutableMapper.ToImmutableMap()) }

// inOrder returns a map that an expression has made, sorted.
func inOrder(m traits.Mapper) traits.Mapper {
	return sortedMap{m, func() traits.Lister {
		var keys []ref.Val
		for i := m.Iterator(); i.HasNext() == types.True; {
			keys = append(keys, i.Next())
		}
		slices.SortFunc(keys, compareKeys)
		return types.NewRefValList(types.DefaultTypeAdapter, keys)
	}}
}

// compareKeys orders keys by their types, and then by what they are.
func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); c != 0 {
		return c
	}
	c, _ := a.(traits.Comparer).Compare(b).(types.Int)
	return int(c)
}
