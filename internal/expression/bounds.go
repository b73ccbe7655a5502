package expression

import (
	"cmp"
	"math"
	"regexp"
	"regexp/syntax"
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
	// callMax is how much one call may read, make or compare, in bytes.
	callMax = 1 << 20
	// matchedMax is the length of the longest text in which all matches of a pattern are looked for, in bytes: for some
	// patterns that takes time as the square of the text.
	matchedMax = 16 << 10
	// patternMax is the length of the longest pattern, in bytes. To compile one takes some hundred times of it.
	patternMax = textMax
	// valueSize is how much a value in a list or map counts beside its text, in bytes.
	valueSize = 4
	// bytesPerUnit is how much a call reads or makes for one unit of cost.
	bytesPerUnit = 16
)

// passing are the functions that take lists and maps as they are. All others may look at whatever is in them.
var passing = map[string]bool{
	"size": true, "first": true, "last": true, "dyn": true, "type": true, "cel.@mapInsert": true,
}

// pairing are the functions that look at each pair of parts of their first two arguments.
var pairing = map[string]bool{
	"indexOf": true, "lastIndexOf": true, "distinct": true,
	"sets.contains": true, "sets.intersects": true, "sets.equivalent": true,
}

// vast is the text of a quantity that takes all memory when it is compared or added.
var vast = regexp.MustCompile(`.{64}|[eE][+-]?[0-9]{3}`)

// bound returns an upper bound of what a call reads, makes and compares, in bytes: what it is given, unless the
// function makes much of little or compares all with all.
func bound(function string, args []ref.Val) int {
	switch function {
	case "_==_", "_!=_", "startsWith", "endsWith":
		if a, b := length(args[0]), length(args[1]); a != b {
			return min(a, b) // No more is compared then: of lists and maps nothing.
		}
	case "@in":
		if _, ok := args[1].(traits.Mapper); ok {
			return length(args[0])
		}
	}
	n := 0
	for _, v := range args {
		n += size(function, v)
	}
	switch function {
	case "join":
		if len(args) > 1 {
			n += product(length(args[0]), length(args[1]))
		}
	case "replace":
		n += product(strings.Count(text(args[0]), text(args[1])), length(args[2]))
	case "regex.extractAll", "regex.replace", "findAll":
		if length(args[0]) > matchedMax {
			return math.MaxInt
		}
		if function == "regex.replace" {
			n += product(length(args[0]), length(args[2])) / 4
		}
		n += searched(args)
	case "regex.extract", "matches", "find":
		n += searched(args)
	case "quantity", "isQuantity":
		if vast.MatchString(text(args[0])) {
			return math.MaxInt
		}
	}
	if pairing[function] {
		n += product(size(function, args[0]), size(function, args[min(1, len(args)-1)])) / bytesPerUnit
	}
	return n
}

// searched bounds a search for the pattern that is the second argument in the first. All instructions of its program
// may be tried at each byte.
func searched(args []ref.Val) int {
	pattern := text(args[1])
	if len(pattern) > patternMax {
		return math.MaxInt32
	}
	program := len(pattern)
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		program = instructions(parsed)
	}
	return program + product(length(args[0]), program)/bytesPerUnit
}

// instructions returns about how long the program of a pattern is.
func instructions(p *syntax.Regexp) int {
	n := 1 + len(p.Rune)
	for _, sub := range p.Sub {
		n += instructions(sub)
	}
	if p.Op == syntax.OpRepeat {
		n *= max(p.Min, p.Max, 1)
	}
	return n
}

// size returns how much of an argument a function may look at, in bytes, or a bit more than callMax.
func size(function string, v ref.Val) int {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		if passing[function] || strings.ContainsAny(function[:1], "_-!") && comparing[function] == nil {
			return 0
		}
	}
	return weigh(v, callMax)
}

// comparing are the operators that look into lists and maps. Their bindings in cel-go are never called.
var comparing = map[string]functions.BinaryOp{
	"_==_": types.Equal,
	"_!=_": func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) },
}

// text returns an argument that is a text.
func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// length returns how many bytes or elements a value has.
func length(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Sizer: // lists and maps
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

// weigh returns how many bytes a value has with all that is in it, as often as it occurs, or a bit more than most.
func weigh(v ref.Val, most int) int {
	n := valueSize
	switch v := v.(type) {
	case traits.Mapper:
		for i := v.Iterator(); n <= most && i.HasNext() == types.True; {
			k := i.Next()
			n += weigh(k, most-n)
			n += weigh(v.Get(k), most-n)
		}
	case traits.Lister:
		for i := v.Iterator(); n <= most && i.HasNext() == types.True; {
			n += weigh(i.Next(), most-n)
		}
	default:
		n += length(v)
	}
	return n
}

// bounded returns the option by which calls of functions beyond their bounds are not made. They end the evaluation as
// cel-go does at its limit of cost, so that no || hides it. Other operators than comparisons look into no list or map.
func bounded(env *cel.Env) (cel.ProgramOption, error) {
	bindings := map[string]*functions.Overload{}
	for name, f := range env.Functions() {
		all, err := f.Bindings()
		if err != nil {
			return nil, errors.Wrapf(err, "cannot find CEL function %s", name)
		}
		for _, b := range all {
			if !strings.ContainsAny(name[:1], "_!-") && !b.NonStrict {
				bindings[b.Operator] = b
			}
		}
	}
	for name, op := range comparing {
		bindings[name] = &functions.Overload{Binary: op}
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

// boundedOp returns the operation of a function.
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

// An estimator charges calls by their bounds and by the texts that they make. cel-go does so only where it knows the
// types of all arguments before the evaluation, which it does not of what is in resources.
type estimator struct{}

// CallCost returns the cost of a call that was made.
func (estimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	n := bound(function, args)
	switch result.(type) {
	case types.String, types.Bytes:
		n += length(result)
	}
	cost := 1 + uint64(max(n, 0))/bytesPerUnit
	return &cost
}
