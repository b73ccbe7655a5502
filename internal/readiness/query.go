package readiness

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/pkg/errors"
	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/provider-kcp/internal/expression"
)

// programsMax is how many queries are kept compiled.
const programsMax = 500

// variable is the name of the resource in a query.
const variable = "object"

// ErrNotBool means that a query has given something else than a bool.
var ErrNotBool = errors.New("does not give a bool")

// programs are the queries that were used last, compiled or found invalid, by their text.
var programs = lru.New(programsMax)

// environment is what queries are compiled in.
var environment = expression.NewEnvironment("CEL query", variable)

// A query is one that was compiled, or an error instead.
type query struct {
	program *expression.Program
	err     error
}

// Query answers a query about a resource: true or false. The resource is neither copied nor changed. The cause of an
// error is one of package expression, or ErrNotBool; its text quotes nothing of the resource.
func Query(text string, object map[string]any) (bool, error) {
	q := compiled(text)
	if q.err != nil {
		return false, q.err
	}
	out, err := q.program.Eval(map[string]any{variable: object})
	if err != nil {
		return false, err
	}
	answer, ok := out.(types.Bool)
	if !ok {
		return false, q.program.Wrong(ErrNotBool, out)
	}
	return bool(answer), nil
}

// compiled returns a query, from memory if it was asked before.
func compiled(text string) *query {
	if known, ok := programs.Get(text); ok {
		if q, ok := known.(*query); ok {
			return q
		}
	}
	q := &query{}
	q.program, q.err = environment.Compile(text, cel.BoolType)
	programs.Add(text, q)
	return q
}
