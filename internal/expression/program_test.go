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
		"ManyTexts": {"A text that occurs often is as long as all of them.", "v.items.map(i, v.text)", large("x"), want{err: ErrNoJSON}},
		"ManyBytes": {"So are bytes.", "lists.range(4).map(i, v)", []byte(strings.Repeat("x", 800_000)), want{err: ErrNoJSON}},
		"ManyKeys":  {"And keys.", "lists.range(5).map(i, v)", map[string]any{strings.Repeat("x", 900_000): true}, want{err: ErrNoJSON}},
		// Before these bounds, a call was made and charged then.
		"Replace":            {"A call that would make too much is not made.", "v.text.replace('x', v.text)", large("x"), want{err: ErrTooCostly}},
		"ReplaceHidden":      {"Nor can || hide it.", "v.text.replace('x', v.text) == '' || true", large("x"), want{err: ErrTooCostly}},
		"ReplaceEmpty":       {"Nor by what is between letters.", "v.text.replace('', v.text)", large("x"), want{err: ErrTooCostly}},
		"ReplaceSome":        {"Ordinary ones are.", "'a-b-c'.replace('-', '+', 1)", nil, want{value: "a+b-c"}},
		"Join":               {"A long separator counts as often as it occurs.", "v.items.join(v.text)", large("x"), want{err: ErrTooCostly}},
		"JoinSame":           {"So does an element.", "v.items.map(i, v.text).join()", large("x"), want{err: ErrTooCostly}},
		"JoinSome":           {"Ordinary ones work.", "v.items.filter(i, i == '').slice(0, 3).join('-')", large("x"), want{value: "--"}},
		"Format":             {"So does what is formatted.", "'%s'.format([v.items.map(i, v.text)])", large("x"), want{err: ErrTooCostly}},
		"FormatSome":         {"Ordinary ones work.", "'%s-%d'.format(['a', 7])", nil, want{value: "a-7"}},
		"RegexReplace":       {"Long texts are not searched for all matches.", "regex.replace(v.text, 'https?://([^@]*@)?', '')", large("http://"), want{err: ErrTooCostly}},
		"RegexReplaceBy":     {"Replacements count as often as they are put in.", "regex.replace(v.text.substring(0, 9000), 'x', v.text.substring(0, 9000))", large("x"), want{err: ErrTooCostly}},
		"RegexReplaceGroups": {"So do groups.", "regex.replace(v.text.substring(0, 9000), '.+', v.groups)", map[string]any{"text": strings.Repeat("x", 9000), "groups": strings.Repeat(`\0`, 200)}, want{err: ErrTooCostly}},
		"RegexExtractAll":    {"Nor here.", "regex.extractAll(v.text, 'https?://([^@]*@)?')", large("http://"), want{err: ErrTooCostly}},
		"RegexSome":          {"Ordinary ones work.", `regex.replace('my-name', 'my-(.*)', 'your-\\1')`, nil, want{value: "your-name"}},
		"Matches":            {"A pattern counts for each byte of the text.", "v.text.matches(v.text.substring(0, 1000))", large("x"), want{err: ErrTooCostly}},
		"MatchesSome":        {"Ordinary ones work.", "v.name.matches('^[a-z]{1,63}$')", map[string]any{"name": "web"}, want{value: true}},
		"MatchesNumber":      {"A number does not match.", "v.matches('1')", int64(1), want{err: ErrFailed}},
		"LastIndexOf":        {"Texts are not compared with each other at each place.", "v.text.lastIndexOf(v.text.substring(0, 50000) + 'y')", large("x"), want{err: ErrTooCostly}},
		"Distinct":           {"Nor all elements with all.", "v.many.distinct()", large("x"), want{err: ErrTooCostly}},
		"Sets":               {"Nor two lists.", "sets.contains(v.many, v.many)", large("x"), want{err: ErrTooCostly}},
		"In":                 {"A list that is searched costs what is in it.", "v.many.all(x, x in v.many)", large("x"), want{err: ErrTooCostly}},
		"Plus":               {"Texts of unknown type cost what they are long.", "v.items.map(i, size(v.text + v.text))", large("x"), want{err: ErrTooCostly}},
		"Encode":             {"So does what is made of them.", "v.items.map(i, size(base64.encode(bytes(v.text))))", large("x"), want{err: ErrTooCostly}},
		"JSONEncode":         {"There is no function that is always too costly.", "json.encode(v)", nil, want{err: ErrInvalid}},
		"Invalid":            {"Or none at all.", "v +", nil, want{err: ErrInvalid}},
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

// large returns what fits into a resource: a long text made of another one, and lists of empty texts and of numbers.
func large(of string) map[string]any {
	items, many := make([]any, 5_000), make([]any, 50_000)
	for i := range items {
		items[i] = ""
	}
	for i := range many {
		many[i] = int64(i)
	}
	return map[string]any{"text": strings.Repeat(of, 700_000/len(of)), "items": items, "many": many}
}
