package readiness

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"github.com/pkg/errors"
	"k8s.io/utils/lru"
)

const (
	// costLimit is the highest cost of one evaluation, in the units of cel-go, of which a step is about one. To look at each of 10,000 items
	// of a list costs half of it; a query that runs away ends within some hundredths of a second.
	costLimit = 100_000
	// queryMax is the length of the longest query, in bytes.
	queryMax = 10_000
	// nestingMax is how deep a query may be nested.
	nestingMax = 50
	// rangeMax is the length of the longest list that lists.range makes.
	rangeMax = 10_000
	// programsMax is how many queries are kept compiled. A program takes some tens of kilobytes.
	programsMax = 500
	// errorsMax is how many errors in a query are told, and messageMax how long each may be, in bytes.
	errorsMax  = 3
	messageMax = 200
)

// variable is the name of the resource in a query.
const variable = "object"

// programs are the queries that were used last, compiled or found invalid, by their text.
var programs = lru.New(programsMax)

// environment returns what queries are compiled in.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.Variable(variable, cel.DynType),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(queryMax),
		cel.ParserRecursionLimit(nestingMax),
		ext.Strings(), ext.Lists(ext.ListsMaxRangeSize(rangeMax)), ext.Sets(), ext.Math(), ext.Encoders(), ext.Regex(),
	)
	return env, errors.Wrap(err, "cannot make CEL environment")
})

// A program is a query that was compiled, or an error instead.
type program struct {
	cel.Program

	source *ast.SourceInfo
	err    error
}

// Query answers a query about a resource: true or false. The resource is neither copied nor changed. The cause of an error is
// ErrInvalidQuery, ErrNotBool, ErrQueryFailed or ErrTooCostly; its text quotes nothing of the resource.
func Query(query string, object map[string]any) (bool, error) {
	p := compiled(query)
	if p.err != nil {
		return false, p.err
	}
	out, _, err := p.Eval(map[string]any{variable: object})
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return false, queryError{ErrTooCostly, fmt.Sprintf("it was stopped at cost %d", costLimit)}
	}
	if err != nil {
		return false, queryError{ErrQueryFailed, p.explain(query, err)}
	}
	answer, ok := out.(types.Bool)
	if !ok {
		return false, queryError{ErrNotBool, "it gives a value of type " + out.Type().TypeName()}
	}
	return bool(answer), nil
}

// compiled returns the program of a query.
func compiled(query string) *program {
	if query == "" {
		return &program{err: queryError{ErrInvalidQuery, "it is empty"}}
	}
	if len(query) > queryMax {
		return &program{err: queryError{ErrInvalidQuery, fmt.Sprintf("it is longer than %d bytes", queryMax)}}
	}
	if p, ok := programs.Get(query); ok {
		if p, ok := p.(*program); ok {
			return p
		}
	}
	p := compile(query)
	programs.Add(query, p)
	return p
}

func compile(query string) *program {
	env, err := environment()
	if err != nil {
		return &program{err: err}
	}
	checked, issues := env.Compile(query)
	if issues.Err() != nil {
		return &program{err: queryError{ErrInvalidQuery, list(issues.Errors())}}
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) && !t.IsExactType(cel.AnyType) {
		return &program{err: queryError{ErrInvalidQuery, "it gives a value of type " + t.String() + " and not of type bool"}}
	}
	// Constants are not folded: that would evaluate parts of the query without a limit.
	p, err := env.Program(checked, cel.CostLimit(costLimit))
	if err != nil {
		return &program{err: queryError{ErrInvalidQuery, clip(err.Error())}}
	}
	return &program{Program: p, source: checked.NativeRep().SourceInfo()}
}

// list returns the first errors in a query, each with its line and column, from 1.
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
