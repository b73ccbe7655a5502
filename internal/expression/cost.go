package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

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
