package jsonpath

import (
	"github.com/tidwall/gjson"
)

// A Value is a value as templates see it: as text, and by what gjson can do with it without making it larger.
type Value struct{ gjson.Result }

// Get returns a value within this one, and one that does not exist for a path that is not supported.
func (v Value) Get(path string) Value {
	p, err := Parse(path)
	if err != nil {
		return Value{}
	}
	return Value{v.Result.Get(p.text)}
}
