package expression

import (
	"encoding/base64"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/pkg/errors"
)

const (
	// depthMax is how deep a value may be nested, elementsMax how many values may be in it, and bytesMax how long its
	// texts and keys may be together, in bytes. A text that occurs twice counts twice.
	depthMax    = 100
	elementsMax = 100_000
	bytesMax    = 4 << 20
)

// JSON returns what the expression has given as JSON has it: nil, bool, int64, float64, string, []any or
// map[string]any. Bytes become base64, times and durations their texts.
func (p *Program) JSON(v ref.Val) (any, error) {
	c := converter{what: p.what, left: elementsMax, bytes: bytesMax}
	return c.convert(v, 0)
}

type converter struct {
	what        string
	left, bytes int // how many values and bytes of texts there may still be
}

func (c *converter) refuse(detail string) error {
	return errors.Errorf("%s does not return a JSON value: %s", c.what, detail)
}

// text takes the length of a text from what may still be.
func (c *converter) text(s string) (string, error) {
	if c.bytes -= len(s); c.bytes < 0 {
		return "", c.refuse("the value is too large")
	}
	return s, nil
}

func (c *converter) convert(v ref.Val, depth int) (any, error) {
	if c.left--; depth > depthMax || c.left < 0 {
		return nil, c.refuse("the value is too large")
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil //nolint:nilnil // It is null.
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.String:
		return c.text(string(v))
	case types.Bytes:
		if base64.StdEncoding.EncodedLen(len(v)) > c.bytes {
			return nil, c.refuse("the value is too large")
		}
		return c.text(base64.StdEncoding.EncodeToString(v))
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, c.refuse("a number is too large")
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, c.refuse("a number is not finite")
		}
		return float64(v), nil
	case types.Timestamp, types.Duration:
		if s, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return string(s), nil
		}
		return nil, c.refuse("a time cannot be written as a string")
	case traits.Mapper:
		return c.object(v, depth)
	case traits.Lister:
		return c.list(v, depth)
	}
	return nil, c.refuse("it returns a value of type " + v.Type().TypeName())
}

func (c *converter) list(l traits.Lister, depth int) (any, error) {
	out := []any{}
	for i := l.Iterator(); i.HasNext() == types.True; {
		x, err := c.convert(i.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (c *converter) object(m traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	for i := m.Iterator(); i.HasNext() == types.True; {
		k := i.Next()
		key, ok := k.(types.String)
		if !ok {
			return nil, c.refuse("a key of a map must be a string, but has type " + k.Type().TypeName())
		}
		name, err := c.text(string(key))
		if err != nil {
			return nil, err
		}
		if out[name], err = c.convert(m.Get(key), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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

// A sortedMap is gone through in the order of its keys. Maps that an expression makes have the order of cel-go, which
// differs each time.
type sortedMap struct {
	traits.Mapper

	keys func() traits.Lister
}

// Iterator goes through the keys.
func (m sortedMap) Iterator() traits.Iterator { return m.keys().Iterator() }
