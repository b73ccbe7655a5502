package expression

import (
	"math"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestJSON(t *testing.T) {
	environment := NewEnvironment("CEL expression", "v")
	type want struct {
		value any
		err   error
	}
	for name, tc := range map[string]struct {
		reason string
		text   string
		v      any
		want   want
	}{
		"Null":      {"Null is null.", "null", nil, want{}},
		"Bool":      {"A boolean is one.", "true", nil, want{value: true}},
		"Whole":     {"Whole numbers are exact.", "v + 1", int64(9007199254740992), want{value: int64(9007199254740993)}},
		"Unsigned":  {"Unsigned ones are whole.", "7u", nil, want{value: int64(7)}},
		"TooLarge":  {"JSON of Kubernetes has no larger whole numbers.", "18446744073709551615u", nil, want{err: ErrNoJSON}},
		"Double":    {"Others are not.", "1.5", nil, want{value: 1.5}},
		"Infinite":  {"JSON has no infinite numbers.", "v", math.Inf(1), want{err: ErrNoJSON}},
		"Bytes":     {"Bytes are base64.", "b'a'", nil, want{value: "YQ=="}},
		"Timestamp": {"A time is its text.", "timestamp('2020-01-01T00:00:00Z')", nil, want{value: "2020-01-01T00:00:00Z"}},
		"Nested":    {"Lists and maps are what they are.", "{'a': [v, {'b': null}], 'c': {}}", "x", want{value: map[string]any{"a": []any{"x", map[string]any{"b": nil}}, "c": map[string]any{}}}},
		"OtherKeys": {"Keys are texts.", "{1: 2}", nil, want{err: ErrNoJSON}},
		"Type":      {"A type is no value.", "type(1)", nil, want{err: ErrNoJSON}},
		"Missing":   {"What is not there is an error.", "v.x", map[string]any{}, want{err: ErrFailed}},
		"Deep":      {"A value can be too deep.", "v", deep(depthMax + 2), want{err: ErrNoJSON}},
		"Wide":      {"Or have too much in it.", "v", make([]any, elementsMax+1), want{err: ErrNoJSON}},
		"Costly":    {"An expression can be too costly.", "lists.range(1000).map(a, lists.range(1000))", nil, want{err: ErrTooCostly}},
		"Invalid":   {"Or none at all.", "v +", nil, want{err: ErrInvalid}},
	} {
		t.Run(name, func(t *testing.T) {
			var got want
			p, err := environment.Compile(tc.text, cel.DynType)
			if err == nil {
				out, evalErr := p.Eval(map[string]any{"v": tc.v})
				if err = evalErr; err == nil {
					got.value, err = p.JSON(out)
				}
			}
			got.err = err
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "CEL expression ") {
				t.Errorf("an error says what failed: %v", err)
			}
		})
	}
}

// deep returns a list in lists.
func deep(n int) any {
	var v any = "x"
	for range n {
		v = []any{v}
	}
	return v
}
