package gotemplate

import (
	"regexp"
	"strings"
	"text/template"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
)

const (
	// textMax is the length of the longest template, in bytes.
	textMax = 16 << 10
	// outputMax is the length of the longest output, in bytes.
	outputMax = 512 << 10
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
	if len(text) > textMax {
		return nil, failure{ErrInvalid, "it is too long"}
	}
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
