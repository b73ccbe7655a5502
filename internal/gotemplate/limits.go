package gotemplate

import (
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

const (
	// madeMax is how much one call of a function may make, in bytes or elements.
	madeMax = 1 << 20
	// turnsMax is how many turns all loops of one rendering may take together.
	turnsMax = 10_000
	// patternMax is the length of the longest regular expression, and searchedMax that of the longest text in which it is
	// looked for, in bytes: for some patterns that takes time as the square of the text.
	patternMax, searchedMax = 1 << 10, 4 << 10
	// comparedMax is how many elements of a list are compared with each other.
	comparedMax = 1000
	// verbsMax is how many verbs a format may have. Package fmt makes up to a million bytes of each.
	verbsMax = 64
)

// limited puts a bound to the functions that can make much of little, or take a time as the square of what they are
// given.
func limited(m template.FuncMap) {
	for names, made := range map[string]func(a arguments) int{
		"repeat":              func(a arguments) int { return product(a.size(0), a.size(1)) },
		"until untilStep seq": func(a arguments) int { return a.total() },
		"indent nindent":      func(a arguments) int { return product(a.size(0), 1+strings.Count(a.text(1), "\n")) },
		"wrapWith":            func(a arguments) int { return product(a.size(1), a.size(2)) },
		"join":                func(a arguments) int { return product(a.size(0), a.size(1)) },
		"replace":             func(a arguments) int { return product(strings.Count(a.text(2), a.text(0)), a.size(1)) },
		"print println cat":   func(a arguments) int { return a.total() },
		"printf": func(a arguments) int {
			return a.total() + strings.Count(a.text(0), "%")*madeMax/verbsMax
		},
		"uniq":                    func(a arguments) int { return a.size(0) * madeMax / comparedMax },
		"regexMatch regexFind":    func(a arguments) int { return a.size(0) * madeMax / patternMax },
		"regexFindAll regexSplit": searched,
		"regexReplaceAll regexReplaceAllLiteral": func(a arguments) int {
			return max(searched(a), product(a.size(1), a.size(2)))
		},
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = bounded(m[name], made)
			if must := "must" + strings.ToUpper(name[:1]) + name[1:]; m[must] != nil {
				m[must] = bounded(m[must], made)
			}
		}
	}
}

// bounded returns a function that is not called if it would make too much.
func bounded(f any, made func(a arguments) int) any {
	v := reflect.ValueOf(f)
	t := v.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	errorType := reflect.TypeFor[error]()
	out := []reflect.Type{t.Out(0), errorType}
	return reflect.MakeFunc(reflect.FuncOf(in, out, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		flat, call := args, v.Call
		if last := len(args) - 1; t.IsVariadic() {
			flat, call = slices.Clone(args[:last]), v.CallSlice
			for i := range args[last].Len() {
				flat = append(flat, args[last].Index(i))
			}
		}
		if n := made(flat); n < 0 || n > madeMax {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&errTooMuch).Elem()}
		}
		return append(call(args), reflect.Zero(errorType))[:2]
	}).Interface()
}

// Arguments are those of one call.
type arguments []reflect.Value

// size returns a number, limited to what cannot overflow, or the length of a text or list.
func (a arguments) size(i int) int {
	if i >= len(a) {
		return 0
	}
	v := a[i]
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		return int(min(max(v.Int(), -(v.Int()+1)), madeMax+1))
	case v.Kind() == reflect.String || v.Kind() == reflect.Slice:
		return min(v.Len(), madeMax+1)
	}
	return 0
}

// total returns the sum of all sizes.
func (a arguments) total() int {
	n := 0
	for i := range a {
		n += a.size(i)
	}
	return n
}

// text returns an argument that is a text.
func (a arguments) text(i int) string { return a[i].String() }

// product of two sizes does not overflow.
func product(a, b int) int { return min(a, madeMax+1) * min(b, madeMax+1) }

// searched bounds a search for all matches of a regular expression.
func searched(a arguments) int {
	return max(a.size(0)*madeMax/patternMax, a.size(1)*madeMax/searchedMax)
}

// turn is the name of the function that is called at each turn of a loop. Templates are parsed without it, so that none
// can name it.
const turn = "_turn"

// turnNode calls turn.
var turnNode = template.Must(template.New("").Funcs(template.FuncMap{turn: func() string { return "" }}).
	Parse("{{" + turn + "}}")).Root.Nodes[0]

// countTurns puts a call of turn at the beginning of each loop in lists of nodes, and reports whether there are loops.
func countTurns(lists ...*parse.ListNode) (loops bool) {
	for _, l := range lists {
		for i := 0; l != nil && i < len(l.Nodes); i++ {
			is := false
			switch n := l.Nodes[i].(type) {
			case *parse.IfNode:
				is = countTurns(n.List, n.ElseList)
			case *parse.WithNode:
				is = countTurns(n.List, n.ElseList)
			case *parse.RangeNode:
				countTurns(n.List, n.ElseList)
				n.List.Nodes, is = slices.Insert(n.List.Nodes, 0, turnNode.Copy()), true
			}
			loops = loops || is
		}
	}
	return loops
}

// turns returns the functions of one rendering, which count its turns.
func turns() template.FuncMap {
	left := turnsMax
	return template.FuncMap{turn: func() (string, error) {
		if left--; left < 0 {
			return "", errTooMuch
		}
		return "", nil
	}}
}
