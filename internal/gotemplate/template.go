package gotemplate

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
)

// outputMax is the length of the longest output, in bytes.
const outputMax = 512 << 10

// A Workspace is what templates know of the workspace of an object.
type Workspace struct {
	// Cluster is the name of the logical cluster, and Path the path of the workspace, empty if it is not known.
	Cluster, Path string
}

// Data returns it as fields of a template, to which others can be added.
func (w Workspace) Data() map[string]any {
	return map[string]any{"ClusterName": w.Cluster, "ClusterPath": logicalcluster.NewPath(w.Path)}
}

// A Template is ready to be rendered, by any number of goroutines.
type Template struct {
	parsed  *template.Template
	loops   bool // Its turns are counted.
	mutates bool
}

var (
	// mutators are the functions that change the map they are given.
	mutators = regexp.MustCompile(`\b(set|unset|merge|mustMerge|mergeOverwrite|mustMergeOverwrite)\b`)
	// calls are calls of templates. To stop one that is deep down takes longer than to run it.
	calls = regexp.MustCompile(`\{\{-?\s*(template|block)\b`)
)

// Parse reads a template. The cause of an error is ErrInvalid.
func Parse(text string) (*Template, error) {
	if calls.MatchString(text) {
		return nil, failure{ErrInvalid, "it calls a template"}
	}
	t, err := template.New("").Funcs(known()).Parse(text)
	if err != nil {
		return nil, failure{ErrInvalid, strings.TrimPrefix(err.Error(), "template: ")}
	}
	return &Template{parsed: t, loops: countTurns(t.Root), mutates: mutators.MatchString(text)}, nil
}

// Render returns what the template yields for data, without white space around it. The data are not changed. The cause
// of an error is ErrFailed or ErrTooCostly.
func (t *Template) Render(data map[string]any) (string, error) {
	parsed := t.parsed
	if t.loops {
		c, err := parsed.Clone()
		if err != nil {
			return "", errors.Wrap(err, "cannot copy template")
		}
		parsed = c.Funcs(turns())
	}
	if t.mutates {
		data, _ = clone(data).(map[string]any)
	}
	out := &output{}
	if err := parsed.Execute(out, data); err != nil {
		return "", explain(err)
	}
	return strings.TrimSpace(out.String()), nil
}

// An output is a text of limited length.
type output struct{ strings.Builder }

// Write fails if the text gets too long.
func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > outputMax {
		return 0, ErrTooCostly
	}
	return o.Builder.Write(p)
}

// clone copies maps and lists.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = clone(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = clone(x)
		}
		return out
	}
	return v
}

// Causes of errors.
var (
	// ErrInvalid means that a text is no template.
	ErrInvalid = errors.New("template is invalid")
	// ErrFailed means that a template yields nothing for these data.
	ErrFailed = errors.New("template fails")
	// ErrTooCostly means that a template was stopped at its limit.
	ErrTooCostly = errors.New("template is too costly: it was stopped at its limit")
)

// failure is one of the causes above, and what is to be said about it.
type failure struct {
	cause  error
	detail string
}

// Error tells nothing of the data.
func (f failure) Error() string { return f.cause.Error() + ": " + f.detail }

// Unwrap returns the cause.
func (f failure) Unwrap() error { return f.cause }

var (
	// position is the beginning of an error of text/template: where in which template, and the part of the template that
	// failed.
	position = regexp.MustCompile(`(?s)^template: :(\d+:\d+): executing "[^"]*" at <(.*?)>: (.*)$`)
	// harmless are the errors that tell types and names of the template, and no value.
	harmless = regexp.MustCompile(`^(wrong type for value; expected [\w.{} ]+; got [\w.*\[\]{} ]+|` +
		`wrong number of args for \w+: want [a-z0-9 ]+ got \d+|` +
		`can't evaluate field \w+ in type [\w.*\[\]{} ]+|range can't iterate over)`)
)

// explain says where a template fails, without the values it failed on.
func explain(err error) error {
	if errors.Is(err, ErrTooCostly) {
		return ErrTooCostly
	}
	parts := position.FindStringSubmatch(err.Error())
	if parts == nil {
		return failure{ErrFailed, "it cannot be executed"}
	}
	what := "at " + parts[1] + " <" + parts[2] + ">: " + harmless.FindString(parts[3])
	return failure{ErrFailed, strings.TrimSuffix(what, ": ")}
}

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
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&ErrTooCostly).Elem()}
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
			return "", ErrTooCostly
		}
		return "", nil
	}}
}
