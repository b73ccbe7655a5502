package expression

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/pkg/errors"
)

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
}

// unexplained stands for all other errors.
const unexplained = "a value is not what the expression takes it for"

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
