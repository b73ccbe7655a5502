package gotemplate

import (
	"regexp"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
)

const (
	// textMax is the length of the longest template, in bytes.
	textMax = 16 << 10
	// outputMax is the length of the longest output, in bytes.
	outputMax = 512 << 10
	// costMax is the budget of one rendering. A byte that is made costs one.
	costMax = 4 << 20
	// stepCost is the cost of one turn of a loop or one call of a function. It limits them to some hundred thousand.
	stepCost = 16
)

const (
	// step is the name of the function that is called at the beginning of each turn of a loop.
	step = "_step"
	// shown is the name of the function that each value passes that is written.
	shown = "_shown"
)

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
	parsed    *template.Template
	functions []string // the names of those it may call, step among them
	mutates   bool
}

// Parse reads a template. The cause of an error is ErrInvalid.
func Parse(text string) (*Template, error) {
	if len(text) > textMax {
		return nil, failure{ErrInvalid, "it is too long"}
	}
	t, err := template.New("").Funcs(stubs()).Parse(text)
	if err != nil {
		return nil, failure{ErrInvalid, strings.TrimPrefix(err.Error(), "template: ")}
	}
	out, w := &Template{parsed: t}, &walker{names: map[string]bool{step: true}}
	if w.list(t.Root); w.calls {
		return nil, failure{ErrInvalid, "it calls a template"}
	}
	for name := range w.names {
		out.functions = append(out.functions, name)
		out.mutates = out.mutates || mutators[name]
	}
	return out, nil
}

// Render returns what the template yields for data, without white space around it. The data are not changed. The cause
// of an error is ErrFailed or ErrTooCostly.
func (t *Template) Render(data map[string]any) (string, error) {
	parsed, err := t.parsed.Clone()
	if err != nil {
		return "", errors.Wrap(err, "cannot copy template")
	}
	if t.mutates {
		data, _ = clone(data).(map[string]any)
	}
	b, out := &budget{left: costMax}, &output{}
	if err := parsed.Funcs(b.functions(t.functions)).Execute(out, data); err != nil {
		return "", explain(err)
	}
	return strings.TrimSpace(out.String()), nil
}

// An output is a text of limited length.
type output struct{ strings.Builder }

// Write fails if the text gets too long.
func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > outputMax {
		return 0, errTooMuch
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

// A walker puts a step at the beginning of each list of nodes, and gathers the names of functions.
type walker struct {
	names map[string]bool
	calls bool // a template is called
}

// list walks through a list of nodes, some of which may be run more than once.
func (w *walker) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		w.node(n)
	}
	l.Nodes = append([]parse.Node{stepNode()}, l.Nodes...)
}

func (w *walker) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		w.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, shownCommand())
		}
	case *parse.TemplateNode:
		w.calls = true
	case *parse.IfNode:
		w.branch(&n.BranchNode)
	case *parse.WithNode:
		w.branch(&n.BranchNode)
	case *parse.RangeNode:
		w.branch(&n.BranchNode)
	}
}

func (w *walker) branch(n *parse.BranchNode) {
	w.pipe(n.Pipe)
	w.list(n.List)
	w.list(n.ElseList)
}

func (w *walker) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			w.argument(a)
		}
	}
}

func (w *walker) argument(n parse.Node) {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		w.names[n.Ident] = true
	case *parse.PipeNode:
		w.pipe(n)
	case *parse.ChainNode:
		w.argument(n.Node)
	}
}

// additions are the nodes that call step and shown.
var additions = sync.OnceValue(func() []parse.Node {
	return template.Must(template.New("").Funcs(stubs()).Parse("{{" + step + "}}{{0 | " + shown + "}}")).Root.Nodes
})

func stepNode() parse.Node { return additions()[0].Copy() }

func shownCommand() *parse.CommandNode {
	n, _ := additions()[1].Copy().(*parse.ActionNode)
	return n.Pipe.Cmds[1]
}

// Causes of errors.
var (
	// ErrInvalid means that a text is no template.
	ErrInvalid = errors.New("template is invalid")
	// ErrFailed means that a template yields nothing for these data.
	ErrFailed = errors.New("template fails")
	// ErrTooCostly means that a template was stopped at its limit.
	ErrTooCostly = errors.New("template is too costly")
)

// errTooMuch is what stops a template.
var errTooMuch = errors.New("limit reached")

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
	// place is the beginning of an error of text/template: where in which template, and the part of the template that
	// failed.
	place = regexp.MustCompile(`(?s)^template: :(\d+:\d+): executing "[^"]*" at <(.*?)>: (.*)$`)
	// harmless are the errors that tell types and names of the template, and no value.
	harmless = regexp.MustCompile(`^(wrong type for value; expected [\w.{} ]+; got [\w.*\[\]{} ]+|` +
		`wrong number of args for \w+: want [a-z0-9 ]+ got \d+|` +
		`can't evaluate field \w+ in type [\w.*\[\]{} ]+|range can't iterate over)`)
	// called is the name of a function that failed.
	called = regexp.MustCompile(`^error calling \w+`)
)

// explain says where a template fails, without the values it failed on.
func explain(err error) error {
	if errors.Is(err, errTooMuch) {
		return failure{ErrTooCostly, "it was stopped at its limit"}
	}
	parts := place.FindStringSubmatch(err.Error())
	if parts == nil {
		return failure{ErrFailed, "it cannot be executed"}
	}
	what := harmless.FindString(parts[3])
	if what == "" {
		what = called.FindString(parts[3])
	}
	return failure{ErrFailed, strings.TrimSuffix("at "+parts[1]+" <"+parts[2]+">: "+what, ": ")}
}
