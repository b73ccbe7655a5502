package expression

import (
	"math"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
)

// How errors begin.
const (
	invalid   = "CEL expression is invalid: "
	failed    = "CEL expression fails: "
	tooCostly = "CEL expression is too costly: "
	noJSON    = "CEL expression does not return a JSON value: "
)

func TestJSON(t *testing.T) {
	environment := NewEnvironment("CEL expression", "v")
	type want struct {
		value any
		err   string // how it begins
	}
	for name, tc := range map[string]struct {
		reason string
		text   string
		v      any
		want   want
	}{
		"Null": {reason: "Null is null.", text: "null", v: nil, want: want{}},
		"Bool": {reason: "A boolean is one.", text: "true", v: nil, want: want{value: true}},
		"Whole": {
			reason: "Whole numbers are exact.",
			text:   "v + 1",
			v:      int64(9007199254740992),
			want:   want{value: int64(9007199254740993)},
		},
		"TooLarge": {
			reason: "JSON of Kubernetes has no larger whole numbers.",
			text:   "18446744073709551615u",
			v:      nil,
			want:   want{err: noJSON},
		},
		"Double":   {reason: "Others are not.", text: "1.5", v: nil, want: want{value: 1.5}},
		"Infinite": {reason: "JSON has no infinite numbers.", text: "v", v: math.Inf(1), want: want{err: noJSON}},
		"Bytes":    {reason: "Bytes are base64.", text: "b'a'", v: nil, want: want{value: "YQ=="}},
		"Nested": {
			reason: "Lists and maps are what they are.",
			text:   "{'a': [v, {'b': null}], 'c': {}}",
			v:      "x",
			want:   want{value: map[string]any{"a": []any{"x", map[string]any{"b": nil}}, "c": map[string]any{}}},
		},
		"OtherKeys": {reason: "Keys are texts.", text: "{1: 2}", v: nil, want: want{err: noJSON}},
		"Type":      {reason: "A type is no value.", text: "type(1)", v: nil, want: want{err: noJSON}},
		"Missing": {
			reason: "What is not there is an error.",
			text:   "v.x",
			v:      map[string]any{},
			want:   want{err: failed},
		},
		"Deep": {reason: "A value can be too deep.", text: "v", v: deep(depthMax + 2), want: want{err: noJSON}},
		"Wide": {
			reason: "Or have too much in it.",
			text:   "v",
			v:      make([]any, elementsMax+1),
			want:   want{err: noJSON},
		},
		"Costly": {
			reason: "An expression can be too costly.",
			text:   "lists.range(1000).map(a, lists.range(1000))",
			v:      nil,
			want:   want{err: tooCostly},
		},
		"ManyTexts": {
			reason: "A text that occurs often is as long as all of them.",
			text:   "v.items.map(i, v.text)",
			v:      large("x"),
			want:   want{err: noJSON},
		},
		"ManyBytes": {
			reason: "So are bytes.",
			text:   "lists.range(4).map(i, v)",
			v:      []byte(strings.Repeat("x", 800_000)),
			want:   want{err: noJSON},
		},
		"ManyKeys": {
			reason: "And keys.",
			text:   "lists.range(5).map(i, v)",
			v:      map[string]any{strings.Repeat("x", 900_000): true},
			want:   want{err: noJSON},
		},
		// Before these bounds, a call was made and charged then.
		"Replace": {
			reason: "A call that would make too much is not made.",
			text:   "v.text.replace('x', v.text)",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"ReplaceHidden": {
			reason: "Nor can || hide it.",
			text:   "v.text.replace('x', v.text) == '' || true",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"ReplaceSome": {
			reason: "Ordinary ones are.",
			text:   "'a-b-c'.replace('-', '+', 1)",
			v:      nil,
			want:   want{value: "a+b-c"},
		},
		"Join": {
			reason: "A long separator counts as often as it occurs.",
			text:   "v.items.join(v.text)",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"JoinSame": {
			reason: "So does an element.",
			text:   "v.items.map(i, v.text).join()",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Format": {
			reason: "So does what is formatted.",
			text:   "'%s'.format([v.items.map(i, v.text)])",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"RegexReplace": {
			reason: "Long texts are not searched for all matches.",
			text:   "regex.replace(v.text, 'https?://([^@]*@)?', '')",
			v:      large("http://"),
			want:   want{err: tooCostly},
		},
		"RegexReplaceGroups": {
			reason: "So do groups.",
			text:   "regex.replace(v.text.substring(0, 9000), '.+', v.groups)",
			v:      map[string]any{"text": strings.Repeat("x", 9000), "groups": strings.Repeat(`\0`, 300)},
			want:   want{err: tooCostly},
		},
		"RegexExtractAll": {
			reason: "Nor here.",
			text:   "regex.extractAll(v.text, 'https?://([^@]*@)?')",
			v:      large("http://"),
			want:   want{err: tooCostly},
		},
		"RegexSome": {
			reason: "Ordinary ones work.",
			text:   `regex.replace('my-name', 'my-(.*)', 'your-\\1')`,
			v:      nil,
			want:   want{value: "your-name"},
		},
		"RegexFindAll": {
			reason: "Nor by the functions of Kubernetes.",
			text:   "v.text.findAll('https?://([^@]*@)?')",
			v:      large("http://"),
			want:   want{err: tooCostly},
		},
		"RegexFind": {
			reason: "All instructions of a pattern may be tried at each byte, also of one that is known before.",
			text:   "v.text.find('(x?){1000}y')",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"RegexPattern": {
			reason: "A pattern that takes much to compile is not.",
			text:   "'x'.matches(v.text.replace('x', '(a)|'))",
			v:      map[string]any{"text": strings.Repeat("x", 5000)},
			want:   want{err: tooCostly},
		},
		"RegexFindSome": {
			reason: "Ordinary ones work.",
			text:   "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1'.find('[0-9]') == 'a1b2'.findAll('[0-9]', 1)[0]",
			v:      nil,
			want:   want{value: true},
		},
		"Equal": {
			reason: "A list counts as often as it occurs.",
			text:   "[lists.range(30).map(i, v.many)].all(x, x == x)",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"EqualSome": {
			reason: "Lists of different lengths are not gone through.",
			text:   "lists.range(1000).all(i, v.many != [1] && v != {} && v.many.size() != 1)",
			v:      large("x"),
			want:   want{value: true},
		},
		"DuplicateKey": {
			reason: "A map has a key once.",
			text:   "[1, 1].transformMapEntry(i, x, {x: i})",
			v:      nil,
			want:   want{err: failed},
		},
		"Matches": {
			reason: "A pattern counts for each byte of the text.",
			text:   "v.text.matches(v.text.substring(0, 1000))",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"MatchesNumber": {
			reason: "A number does not match.",
			text:   "v.matches('1')",
			v:      int64(1),
			want:   want{err: failed},
		},
		"LastIndexOf": {
			reason: "Texts are not compared with each other at each place.",
			text:   "v.text.lastIndexOf(v.text.substring(0, 50000) + 'y')",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Distinct": {
			reason: "Nor all elements with all.",
			text:   "v.many.distinct()",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Sets": {
			reason: "Nor two lists.",
			text:   "sets.contains(v.many, v.many)",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"In": {
			reason: "A list that is searched costs what is in it.",
			text:   "v.many.all(x, x in v.many)",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Compare": {
			reason: "To compare costs what the shorter text is long.",
			text:   "v.items.all(i, i != v.text && v.text.startsWith('x'))",
			v:      large("x"),
			want:   want{value: true},
		},
		"Plus": {
			reason: "Texts of unknown type cost what they are long.",
			text:   "v.items.map(i, size(v.text + v.text))",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Encode": {
			reason: "So does what is made of them.",
			text:   "v.items.map(i, size(base64.encode(bytes(v.text))))",
			v:      large("x"),
			want:   want{err: tooCostly},
		},
		"Kubernetes": {
			reason: "The libraries of Kubernetes are there.",
			text: `quantity('1Gi').isGreaterThan(quantity('1M')) && url('https://a/b').getHost() == 'a' &&
				ip('::1').family() == 6 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && [1, 2].sum() == 3 &&
				semver('1.2.3').minor() == 2 && !format.dns1123Label().validate(v).hasValue()`,
			v:    "a",
			want: want{value: true},
		},
		"Quantity": {
			reason: "A number cannot be too large.",
			text:   "quantity(v).compareTo(quantity('1'))",
			v:      "1e999999999",
			want:   want{err: tooCostly},
		},
		"QuantityLong": {
			reason: "Nor have too many digits.",
			text:   "isQuantity(v.text)",
			v:      large("1"),
			want:   want{err: tooCostly},
		},
		"JSONEncode": {
			reason: "There is no function that is always too costly.",
			text:   "json.encode(v)",
			v:      nil,
			want:   want{err: invalid},
		},
		"Invalid": {reason: "Or none at all.", text: "v +", v: nil, want: want{err: invalid}},
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
			if err != nil {
				got.err = err.Error()[:min(len(err.Error()), max(1, len(tc.want.err)))]
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
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
