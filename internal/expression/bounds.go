package expression

import (
	"math"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/pkg/errors"
)

const (
	// callMax is how much one call may make or compare, in bytes and elements.
	callMax = 1 << 20
	// matchedMax is the length of the longest text in which all matches of a pattern are looked for, in bytes: for some
	// patterns that takes time as the square of the text.
	matchedMax = 16 << 10
)

// bounds return upper bounds of what a call makes or compares, by function. Functions that make or compare about as
// much as they are given need none. Bounds are given any arguments, and return 0 for those that the function refuses.
var bounds = map[string]func(args []ref.Val) int{
	"replace":               boundReplace,
	"join":                  boundJoin,
	"format":                func(args []ref.Val) int { return weigh(args, callMax) },
	"matches":               boundMatch,
	"regex.extract":         boundMatch,
	"regex.extractAll":      boundMatches,
	"regex.replace":         boundRegexReplace,
	"indexOf":               func(args []ref.Val) int { return pairs(args) / 10 },
	"lastIndexOf":           func(args []ref.Val) int { return pairs(args) / 10 },
	"distinct":              func(args []ref.Val) int { return product(length(args, 0), length(args, 0)) },
	"sets.contains":         pairs,
	"sets.intersects":       pairs,
	"sets.equivalent":       func(args []ref.Val) int { return 2 * pairs(args) },
	"sort":                  func(args []ref.Val) int { return length(args, 0) },
	"@sortByAssociatedKeys": func(args []ref.Val) int { return length(args, 0) },
}

// pairs returns how many pairs of a part of the first argument and one of the second there are.
func pairs(args []ref.Val) int { return product(length(args, 0), length(args, 1)) }

func boundReplace(args []ref.Val) int {
	if len(args) < 3 {
		return 0
	}
	s, old := text(args, 0), text(args, 1)
	return len(s) + product(strings.Count(s, old), length(args, 2))
}

func boundJoin(args []ref.Val) int {
	return weigh(args[:1], callMax) + product(length(args, 0), len(text(args, 1)))
}

// boundMatch counts as cel-go does: patterns are taken for programs of a fourth of their length.
func boundMatch(args []ref.Val) int { return pairs(args) / 4 }

func boundMatches(args []ref.Val) int {
	if length(args, 0) > matchedMax {
		return math.MaxInt
	}
	return boundMatch(args)
}

func boundRegexReplace(args []ref.Val) int {
	n := boundMatches(args)
	if n > callMax || len(args) < 3 {
		return n
	}
	pattern, err := regexp.Compile(text(args, 1))
	if err != nil {
		return 0
	}
	s, by := text(args, 0), text(args, 2)
	groups := strings.Count(by, `\`)
	return max(n, len(s)+product(len(pattern.FindAllStringIndex(s, -1)), len(by))+product(groups, len(s)))
}

// text returns an argument that is a text.
func text(args []ref.Val, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(types.String)
	return string(s)
}

// length returns how many bytes or elements an argument has.
func length(args []ref.Val, i int) int {
	if i >= len(args) {
		return 0
	}
	switch v := args[i].(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Lister:
		n, _ := v.Size().(types.Int)
		return int(n)
	}
	return 0
}

// product does not overflow.
func product(a, b int) int {
	const most = math.MaxInt32
	return min(a, most) * min(b, most)
}

// weigh returns how many bytes of text and how many values there are in values, as often as they occur, or a bit more
// than most.
func weigh(values []ref.Val, most int) int {
	n := 0
	for _, v := range values {
		if n++; n > most {
			return n
		}
		switch v := v.(type) {
		case traits.Mapper:
			for i := v.Iterator(); i.HasNext() == types.True && n <= most; {
				k := i.Next()
				n += weigh([]ref.Val{k, v.Get(k)}, most-n)
			}
		case traits.Lister:
			for i := v.Iterator(); i.HasNext() == types.True && n <= most; {
				n += weigh([]ref.Val{i.Next()}, most-n)
			}
		default:
			n += length([]ref.Val{v}, 0)
		}
	}
	return n
}

// bounded returns the option by which calls beyond their bounds are not made. They end the evaluation as cel-go does at
// its limit of cost, so that no || hides it.
func bounded(env *cel.Env) (cel.ProgramOption, error) {
	bindings := map[string]*functions.Overload{}
	for name := range bounds {
		all, err := env.Functions()[name].Bindings()
		if err != nil || len(all) == 0 {
			return nil, errors.Errorf("cannot find CEL function %s", name)
		}
		for _, b := range all {
			bindings[b.Operator] = b
		}
	}
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || bounds[call.Function()] == nil {
			return i, nil
		}
		b := bindings[call.OverloadID()]
		if b == nil {
			b = bindings[call.Function()]
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
			boundedOp(b, bounds[call.Function()])), nil
	}), nil
}

func boundedOp(b *functions.Overload, bound func([]ref.Val) int) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		if n := bound(args); n > callMax || n < 0 {
			panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "call is too large"})
		}
		switch {
		case b.OperandTrait != 0 && !args[0].Type().HasTrait(b.OperandTrait):
			return types.NewErr("no such overload")
		case b.Unary != nil && len(args) == 1:
			return b.Unary(args[0])
		case b.Binary != nil && len(args) == 2:
			return b.Binary(args[0], args[1])
		}
		return b.Function(args...)
	}
}
