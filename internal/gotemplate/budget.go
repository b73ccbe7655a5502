package gotemplate

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strconv"
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

const (
	// patternMax is the length of the longest regular expression, in bytes.
	patternMax = 1024
	// repetitionCost is the cost of compiling a repetition, which makes copies of what it repeats.
	repetitionCost = 1000
	// stepsPerCost is how many steps of a regular expression cost one, and retriesPerCost how many of those that all
	// matches of a text take if each begins anew: its square.
	stepsPerCost, retriesPerCost = 8, 1024
)

// growing are upper bounds of what functions make or compare that can make much of little, or compare all with all.
var growing = map[string]func(a arguments) int{
	"repeat":      func(a arguments) int { return product(a.size(0), a.size(1)) },
	"until":       span,
	"untilStep":   span,
	"seq":         span,
	"indent":      indented,
	"nindent":     indented,
	"wrapWith":    func(a arguments) int { return product(a.size(1), a.size(2)) },
	"join":        func(a arguments) int { return product(a.size(0), a.size(1)) },
	"replace":     func(a arguments) int { return product(strings.Count(a.text(2), a.text(0)), a.size(1)) },
	"printf":      formatted,
	"uniq":        func(a arguments) int { return product(a.size(0), a.size(0)) },
	"mustUniq":    func(a arguments) int { return product(a.size(0), a.size(0)) },
	"without":     func(a arguments) int { return product(a.size(0), len(a)) },
	"mustWithout": func(a arguments) int { return product(a.size(0), len(a)) },
	"omit":        func(a arguments) int { return product(a.size(0), len(a)) },

	"regexMatch": match, "mustRegexMatch": match, "regexFind": match, "mustRegexFind": match, "regexFindAll": matches,
	"mustRegexFindAll": matches, "regexSplit": matches, "mustRegexSplit": matches,
	"regexReplaceAll": replaceAll, "mustRegexReplaceAll": replaceAll, "regexReplaceAllLiteral": replaceAll,
	"mustRegexReplaceAllLiteral": replaceAll,
}

// Arguments are those of one call.
type arguments []reflect.Value

// size returns the absolute value of a number, limited to what cannot overflow, and the length of all else.
func (a arguments) size(i int) int {
	if i >= len(a) {
		return 0
	}
	v := a[i]
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.CanInt() {
		return int(min(max(v.Int(), -v.Int()-1), costMax+1))
	}
	return length(v)
}

// text returns an argument that is a text.
func (a arguments) text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := text(a[i])
	return s
}

// product does not overflow.
func product(a, b int) int { return min(min(a, costMax+1)*min(b, costMax+1), costMax+1) }

// span returns an upper bound of the cost of a list of numbers: its ends are arguments.
func span(a arguments) int {
	n := 0
	for i := range a {
		n += product(a.size(i), stepCost)
	}
	return n
}

func indented(a arguments) int { return product(a.size(0), 1+strings.Count(a.text(1), "\n")) }

var digits = regexp.MustCompile(`\d+`)

// formatted bounds what printf makes: each verb may write all arguments, and be as wide as a number says, which is an
// argument for *.
func formatted(a arguments) int {
	format := a.text(0)
	n, widest, all := 0, 0, 0
	for _, d := range digits.FindAllString(format, -1) {
		w, err := strconv.Atoi(d)
		if err != nil {
			return math.MaxInt
		}
		n += min(w, costMax+1)
	}
	for i := range a {
		all += len(fmt.Sprint(a[i]))
		if strings.Contains(format, "*") {
			widest = max(widest, a.size(i))
		}
	}
	return n + product(strings.Count(format, "%"), widest+all)
}

// match bounds a search for one match: each state of the expression may be looked at for each byte of the text.
func match(a arguments) int {
	states := states(a.text(0))
	return states + states*a.size(1)/stepsPerCost
}

// matches bounds a search for all matches. For some patterns each takes as long as the text is.
func matches(a arguments) int {
	n := a.size(1)
	return match(a) + n*n/retriesPerCost*states(a.text(0))
}

// replaceAll bounds the replacement of each match, by a text or what is repeated of the match.
func replaceAll(a arguments) int { return matches(a) + product(a.size(1), a.size(2)) }

// states returns the size of the program of a regular expression. What is none makes nothing.
func states(pattern string) int {
	if len(pattern) > patternMax {
		return costMax
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return len(pattern)
	}
	return len(program.Inst) + repetitionCost*strings.Count(pattern, "{")
}
