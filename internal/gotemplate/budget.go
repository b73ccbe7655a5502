package gotemplate

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"text/template"

	"github.com/pkg/errors"
)

// A budget is what a rendering may still cost.
type budget struct{ left int }

// charge takes a cost from the budget, or fails if it is not there.
func (b *budget) charge(cost int) error {
	if cost < 0 || cost > b.left {
		b.left = 0
		return errTooMuch
	}
	b.left -= cost
	return nil
}

// functions returns functions by their names, at the expense of the budget. Those that are built in and make nothing
// are left alone.
func (b *budget) functions(names []string) template.FuncMap {
	m := template.FuncMap{}
	all := known()
	for _, name := range names {
		if f, ok := all[name]; ok {
			m[name] = b.wrap(name, reflect.ValueOf(f))
		}
	}
	m[step] = func() (string, error) { return "", b.charge(stepCost) }
	m[shown] = func(v any) (any, error) { return v, b.charge(b.size(reflect.ValueOf(&v).Elem())) }
	return m
}

var (
	anyType   = reflect.TypeFor[any]()
	errorType = reflect.TypeFor[error]()
)

// wrap returns a function that charges what it costs and then calls f. Where f takes a text, it takes anything that is
// one.
func (b *budget) wrap(name string, f reflect.Value) any {
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		if in[i] = t.In(i); in[i].Kind() == reflect.String {
			in[i] = anyType
		}
	}
	wrapped := reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic())
	return reflect.MakeFunc(wrapped, func(args []reflect.Value) []reflect.Value {
		out, err := b.call(name, f, args)
		if err != nil {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		return []reflect.Value{out, reflect.Zero(errorType)}
	}).Interface()
}

func (b *budget) call(name string, f reflect.Value, args []reflect.Value) (reflect.Value, error) {
	t := f.Type()
	for i := range args {
		if t.In(i).Kind() != reflect.String {
			continue
		}
		s, err := text(args[i])
		if err != nil {
			return reflect.Value{}, err
		}
		args[i] = reflect.ValueOf(s)
	}
	flat := args
	if n := len(args); t.IsVariadic() {
		flat = append([]reflect.Value{}, args[:n-1]...)
		for i := range args[n-1].Len() {
			flat = append(flat, args[n-1].Index(i))
		}
	}
	measure := b.size
	if shallow[name] {
		measure = length
	}
	cost := stepCost
	for _, a := range flat {
		cost = min(cost+measure(a), costMax+1)
	}
	// What a function makes is charged after it, so that only those that make much of little are bounded before.
	if bound, ok := growing[name]; ok && cost <= b.left {
		cost += min(bound(flat), costMax+1)
	}
	if err := b.charge(cost); err != nil {
		return reflect.Value{}, err
	}
	out := f.Call(flat)
	if n := len(out); n > 1 && !out[n-1].IsNil() {
		err, _ := out[n-1].Interface().(error)
		return reflect.Value{}, errors.WithMessage(err, name)
	}
	return out[0], b.charge(measure(out[0]))
}

// text returns a text, an empty one for a value that is missing.
func text(v reflect.Value) (string, error) {
	if !v.IsValid() || v.Kind() == reflect.Interface && v.IsNil() {
		return "", nil
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String(), nil
	}
	if v.Kind() != reflect.String {
		return "", errors.Errorf("expected a text, got %s", v.Type())
	}
	return v.String(), nil
}

// depthMax is how deep a value may be nested. Templates can put a map into itself.
const depthMax = 200

// size returns the cost of a value, with all that is in it. It stops counting where the budget ends.
func (b *budget) size(v reflect.Value) int {
	n := 0
	b.count(v, &n, 0)
	return n
}

func (b *budget) count(v reflect.Value, n *int, depth int) {
	*n++
	if depth > depthMax {
		*n = math.MaxInt / 2
	}
	if *n > b.left {
		return
	}
	switch v.Kind() { //nolint:exhaustive // Other values have nothing in them.
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			b.count(v.Elem(), n, depth+1)
		}
	case reflect.String:
		*n += v.Len()
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && *n <= b.left; i++ {
			b.count(v.Index(i), n, depth+1)
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next() && *n <= b.left; {
			b.count(i.Key(), n, depth+1)
			b.count(i.Value(), n, depth+1)
		}
	}
}

// length returns the cost of a value without what is in it.
func length(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() { //nolint:exhaustive // Other values have nothing in them.
	case reflect.String, reflect.Slice, reflect.Map:
		return 1 + v.Len()
	default:
		return 1
	}
}

// shallow are the functions that pass on what they are given and do not look into it.
var shallow = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`get set unset hasKey dig pluck pick omit dict list tuple keys values first
		mustFirst last mustLast rest mustRest initial mustInitial slice mustSlice reverse mustReverse append mustAppend
		push mustPush prepend mustPrepend concat chunk mustChunk default coalesce empty ternary all any
		typeOf typeIs typeIsLike kindOf kindIs`) {
		m[name] = true
	}
	return m
}()
