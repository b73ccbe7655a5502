package expression

import (
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// bytesPerUnit is how many bytes of texts a call reads and makes for one unit of cost.
const bytesPerUnit = 16

// measured are the overloads that cel-go charges by what they are given. It does so only where it knows the types of
// all arguments before the evaluation, which it does not of what it finds in resources.
var measured = map[string]bool{
	overloads.StartsWithString: true, overloads.EndsWithString: true, overloads.ContainsString: true,
	overloads.StringToBytes: true, overloads.BytesToString: true, overloads.ExtQuoteString: true,
	overloads.InList: true, overloads.Equals: true, overloads.NotEquals: true,
	overloads.AddString: true, overloads.AddBytes: true, overloads.Matches: true, overloads.MatchesString: true,
}

// An estimator charges all other calls: by the texts that they read and make, and by the lists that they go through.
type estimator struct{}

// CallCost returns the cost of a call that was made, nil for those that cel-go charges itself.
func (estimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if measured[overload] {
		return nil
	}
	cost := uint64(1)
	for _, v := range args {
		cost += charge(function, v)
	}
	if _, isList := result.(traits.Lister); !isList {
		cost += charge(function, result)
	}
	return &cost
}

// charge returns the cost of one argument or result.
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
	"slice": true, "math.@min": true, "math.@max": true,
}
