package expression

import (
	"cmp"
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

// pairsPerUnit are the functions that can make much of little, or compare all with all: how many pairs of parts of two
// arguments count as much as a byte that is made. Patterns count as cel-go has it, which takes them for programs of a
// fourth of their length. All others make or compare about as much as they are given.
var pairsPerUnit = map[string]int{
	"replace": math.MaxInt, "format": math.MaxInt, "join": 1, "indexOf": 10, "lastIndexOf": 10, "distinct": 1,
	"sets.contains": 1, "sets.intersects": 1, "sets.equivalent": 1,
	"matches": 4, "regex.extract": 4, "regex.extractAll": 4, "regex.replace": 4,
}

// vast is the text of a quantity that takes all memory when it is compared or added.
var vast = regexp.MustCompile(`.{64}|[eE][+-]?[0-9]{3}`)

// bound returns an upper bound of what a call makes or compares.
func bound(function string, args []ref.Val) int {
	n, per := 0, pairsPerUnit[function]
	for i := range args {
		n += length(args, i)
	}
	switch function {
	case "join", "format":
		n = weigh(args, callMax)
	case "replace":
		n = product(strings.Count(text(args, 0), text(args, 1)), length(args, 2))
	case "distinct":
		args = []ref.Val{args[0], args[0]}
	case "regex.extractAll", "regex.replace":
		if length(args, 0) > matchedMax {
			return math.MaxInt
		}
	case "quantity", "isQuantity":
		if vast.MatchString(text(args, 0)) {
			return math.MaxInt
		}
	}
	for i := range args {
		for j := range i {
			if per > 0 {
				n += product(length(args, i), length(args, j)) / per
			}
		}
	}
	return n
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

// bounded returns the option by which calls of functions beyond their bounds are not made. They end the evaluation as
// cel-go does at its limit of cost, so that no || hides it. Operators make no more than they are given.
func bounded(env *cel.Env) (cel.ProgramOption, error) {
	bindings := map[string]*functions.Overload{}
	for name, f := range env.Functions() {
		all, err := f.Bindings()
		if err != nil {
			return nil, errors.Wrapf(err, "cannot find CEL function %s", name)
		}
		for _, b := range all {
			if !strings.ContainsAny(name[:1], "_@!-") && !b.NonStrict {
				bindings[b.Operator] = b
			}
		}
	}
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) == 0 {
			return i, nil
		}
		b := cmp.Or(bindings[call.OverloadID()], bindings[call.Function()])
		if b == nil {
			return i, nil
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
			boundedOp(b, call.Function())), nil
	}), nil
}

func boundedOp(b *functions.Overload, function string) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		if n := bound(function, args); n > callMax || n < 0 {
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

// bytesPerUnit is how many bytes of texts a call reads and makes for one unit of cost.
const bytesPerUnit = 16

// An estimator charges calls by the texts that they read and make, and by the lists that they go through. cel-go does
// so only where it knows the types of all arguments before the evaluation, which it does not of what is in resources.
type estimator struct{}

// comparing are the functions that read no more than the shorter argument.
var comparing = map[string]bool{"_==_": true, "_!=_": true, "startsWith": true, "endsWith": true}

// CallCost returns the cost of a call that was made.
func (estimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1 + charge("", result)
	if comparing[function] && len(args) == 2 {
		cost += min(charge(function, args[0]), charge(function, args[1]))
		return &cost
	}
	for _, v := range args {
		cost += charge(function, v)
	}
	return &cost
}

// charge returns the cost of one argument or result of a function.
func charge(function string, v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / bytesPerUnit
	case traits.Lister:
		if n, ok := v.Size().(types.Int); ok && goesThrough[function] && n > 0 {
			return uint64(n)
		}
	}
	return 0
}

// goesThrough are the functions that look at each element of a list.
var goesThrough = map[string]bool{
	"@in": true, "sort": true, "@sortByAssociatedKeys": true, "flatten": true, "join": true, "reverse": true,
	"slice": true, "math.@min": true, "math.@max": true, "_==_": true, "_!=_": true,
}
