package expression

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"github.com/pkg/errors"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// costLimit is the highest cost of one evaluation, in the units of cel-go: a step costs about one. To look at
	// each of 10,000 items of a list costs half of it; an expression that runs away ends within some hundredths of a
	// second.
	costLimit = 100_000
	// textMax is the length of the longest expression, in characters.
	textMax = 10_000
	// nestingMax is how deep an expression may be nested.
	nestingMax = 50
	// rangeMax is the length of the longest list that lists.range makes.
	rangeMax = 10_000
	// errorsMax is how many errors in an expression are told, and messageMax how long each may be, in bytes.
	errorsMax  = 3
	messageMax = 200
)

// An Environment is what expressions over certain variables are compiled in.
type Environment struct {
	what string
	env  func() (compiler, error)
}

// A compiler is what cel-go compiles in, and what its programs are made with.
type compiler struct {
	env     *cel.Env
	options []cel.ProgramOption
}

// NewEnvironment returns the environment of expressions over variables of any type, which errors call what. It is made
// when it is used first.
func NewEnvironment(what string, variables ...string) Environment {
	return Environment{what: what, env: sync.OnceValues(func() (compiler, error) {
		options := []cel.EnvOption{
			cel.OptionalTypes(),
			cel.CrossTypeNumericComparisons(true),
			cel.DefaultUTCTimeZone(true),
			cel.ParserExpressionSizeLimit(textMax),
			cel.ParserRecursionLimit(nestingMax),
			ext.Strings(), ext.Lists(ext.ListsMaxRangeSize(rangeMax)), ext.Sets(), ext.Math(), ext.Regex(),
			// Later versions have json.encode, which is always beyond the limit of cost, and is run before.
			ext.Encoders(ext.EncodersVersion(0)),
			ext.TwoVarComprehensions(),
			// The libraries of Kubernetes but for Authz, which asks an API server.
			library.URLs(), library.Lists(), library.Quantity(), library.IP(), library.CIDR(), library.Format(),
			library.SemverLib(library.SemverVersion(1)), regexFunctions,
		}
		for _, v := range variables {
			options = append(options, cel.Variable(v, cel.DynType))
		}
		env, err := cel.NewEnv(options...)
		if err != nil {
			return compiler{}, errors.Wrap(err, "cannot create CEL environment")
		}
		calls, err := bounded(env)
		// Constants are not folded: that would evaluate parts of the expression without a limit.
		return compiler{env, []cel.ProgramOption{
			cel.CostTracking(estimator{}), cel.CostLimit(costLimit), calls,
		}}, err
	})}
}

// regexFunctions adds the functions of Kubernetes for regular expressions, without the option of that library that
// compiles constant patterns: it would replace the calls, and our bounds with them.
func regexFunctions(e *cel.Env) (*cel.Env, error) {
	regexes, err := cel.NewCustomEnv(library.Regex())
	if err != nil {
		return nil, errors.Wrap(err, "cannot create CEL environment of regular expressions")
	}
	return cel.FunctionDecls(slices.Collect(maps.Values(regexes.Functions()))...)(e)
}

// A Program is an expression that was compiled. It takes some tens of kilobytes.
type Program struct {
	program cel.Program
	source  *ast.SourceInfo
	what    string
	text    string
}

// Compile returns the program of an expression that gives a value of a type, cel.DynType for any.
func (e Environment) Compile(text string, t *cel.Type) (*Program, error) {
	if text == "" {
		return nil, errors.Errorf("%s is invalid: the expression is empty", e.what)
	}
	c, err := e.env()
	if err != nil {
		return nil, err
	}
	checked, issues := c.env.Compile(text)
	if issues.Err() != nil {
		return nil, errors.Errorf("%s is invalid: %s", e.what, list(issues.Errors()))
	}
	got := checked.OutputType()
	if !t.IsExactType(cel.DynType) && !got.IsExactType(t) && !got.IsExactType(cel.DynType) &&
		!got.IsExactType(cel.AnyType) {
		return nil, errors.Errorf("%s is invalid: it returns a value of type %s and not of type %s", e.what, got, t)
	}
	p, err := c.env.Program(checked, c.options...)
	if err != nil {
		return nil, errors.Errorf("%s is invalid: %s", e.what, clip(err.Error()))
	}
	return &Program{program: p, source: checked.NativeRep().SourceInfo(), what: e.what, text: text}, nil
}

// Eval returns what the expression gives for variables, which are neither copied nor changed. The text of an error
// quotes nothing of the variables.
func (p *Program) Eval(variables map[string]any) (ref.Val, error) {
	r, wrapped := reading{types.DefaultTypeAdapter, map[uintptr]traits.Lister{}}, map[string]any{}
	for name, v := range variables {
		wrapped[name] = r.NativeToValue(v)
	}
	out, _, err := p.program.Eval(wrapped)
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return nil, errors.Errorf("%s is too costly: the expression exceeds the cost limit of %d", p.what, costLimit)
	}
	if err != nil {
		return nil, errors.Errorf("%s fails: %s", p.what, p.explain(err))
	}
	return out, nil
}

// list returns the first errors in an expression, each with its line and column, from 1.
func list(errs []*cel.Error) string {
	var texts []string
	for _, e := range errs[:min(len(errs), errorsMax)] {
		message := strings.TrimSuffix(e.Message, " (in container '')")
		texts = append(texts, position(e.Location.Line(), e.Location.Column())+": "+clip(message))
	}
	return strings.Join(texts, "; ")
}

// position returns a line, from 1, and a column, from 0, for users, who count both from 1.
func position(line, column int) string { return fmt.Sprintf("%d:%d", line, column+1) }

// clip cuts a message that is too long, and makes it one line.
func clip(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > messageMax {
		message = strings.ToValidUTF8(message[:messageMax], "") + "..."
	}
	return message
}

// phrases are the beginnings of errors of cel-go that tell no value. What follows them may.
var phrases = []string{
	"no such key",
	"no such attribute",
	"no such overload",
	"division by zero",
	"modulus by zero",
	"integer overflow",
	"unsigned integer overflow",
	"index out of bounds",
	"index out of range",
	"range error",
	"type conversion error",
	"unsupported index type",
	"invalid argument",
	"optional.none() dereference",
	"insert failed",
}

// unexplained stands for all other errors.
const unexplained = "a value does not have the type that the expression expects"

// explain says where and why an expression fails, without a value of the resource that the expression does not name
// itself.
func (p *Program) explain(err error) string {
	what := unexplained
	for _, phrase := range phrases {
		if rest, ok := strings.CutPrefix(err.Error(), phrase); ok {
			what = phrase + named(p.text, rest)
			break
		}
	}
	var failure *types.Err
	if !errors.As(err, &failure) {
		return what
	}
	at := p.source.GetStartLocation(failure.NodeID())
	if at.Line() < 1 {
		return what
	}
	return "at " + position(at.Line(), at.Column()) + ": " + what
}

// named returns the end of an error if it is a name that the expression itself holds as a word, else nothing.
func named(text, rest string) string {
	name, ok := strings.CutPrefix(rest, ": ")
	word, err := regexp.Compile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(name) + `($|[^\pL\pN_])`)
	if !ok || name == "" || err != nil || !word.MatchString(text) {
		return ""
	}
	return rest
}
