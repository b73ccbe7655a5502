package jsonpath

import (
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
)

const (
	// scanMax is how much a value and those within it may be searched, in bytes, and elementCost what a byte of a list
	// or map counts that is taken apart, as that takes more memory than the byte.
	scanMax     = 64 << 20
	elementCost = 16
)

// errTooMuch ends the template that searches too much.
var errTooMuch = errors.New("the value is searched too often")

// A Value is a value as templates see it: by the methods of gjson, which make it no larger. It is for one rendering.
type Value struct {
	gjson.Result

	left *int // how many bytes may still be searched, shared with the values within
}

// NewValue returns the value of a result.
func NewValue(r gjson.Result) Value {
	left := scanMax
	return Value{r, &left}
}

// Value returns what JSON is decoded to.
func (v Value) Value() (any, error) { return v.Result.Value(), v.search(elementCost) }

// Get returns a value within this one, and one that does not exist for a path that is not supported.
func (v Value) Get(path string) (Value, error) {
	p, err := Parse(path)
	if err != nil {
		return Value{left: v.left}, nil //nolint:nilerr // Nothing is there.
	}
	if err := v.search(1); err != nil {
		return Value{}, err
	}
	return Value{v.Result.Get(p.text), v.left}, nil
}

// Array returns the elements of a list; of a value that is none, the value itself.
func (v Value) Array() ([]Value, error) {
	if err := v.search(elementCost); err != nil {
		return nil, err
	}
	var out []Value
	for _, r := range v.Result.Array() {
		out = append(out, Value{r, v.left})
	}
	return out, nil
}

// Map returns the values of a map by their keys, none for a value that is no map.
func (v Value) Map() (map[string]Value, error) {
	if err := v.search(elementCost); err != nil {
		return nil, err
	}
	out := map[string]Value{}
	for k, r := range v.Result.Map() {
		out[k] = Value{r, v.left}
	}
	return out, nil
}

// search takes the length of the value from what may still be searched, each byte for a cost.
func (v Value) search(cost int) error {
	if v.left == nil {
		return nil
	}
	if *v.left -= cost * (1 + len(v.Raw)); *v.left < 0 {
		return errTooMuch
	}
	return nil
}
