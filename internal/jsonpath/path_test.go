package jsonpath

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"
)

const document = `{"data":{"20240101":"a"},"list":["x","y"],"none":[],"items":[{"name":"one","tags":["p","q"]},{"size":1},{"name":"two","tags":["r"]}]}`

func TestParseTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, path string
		refused      bool
	}{
		"Plain":       {"A path.", "spec.list.0.name", false},
		"Each":        {"All of a list.", "spec.items.#.name", false},
		"Query":       {"One of a list.", `spec.items.#(name=="a|#b").name`, false},
		"QueryInside": {"A query may look into lists.", `spec.items.#(tags.#(=="p")).name`, false},
		"Escaped":     {"What is escaped is a part of a key.", `metadata.labels.a\|b\#c\#d`, false},
		"Key":         {"A number can be a key.", "data.20240101", false},
		"LongKey":     {"However long it is.", "data.99999999999999999999999", false},
		"Pipe":        {"Behind | places are wrong.", "spec.items|#.name", true},
		"PipeBehind":  {"Also behind a query.", `spec.items.#(name=="a")|name`, true},
		"Nested":      {"And behind a second #.", "spec.items.#.list.#.name", true},
		"All":         {"As #()# is one.", `spec.items.#(size>1)#.list.#.name`, true},
		"Modifier":    {"Modifiers are refused.", "spec.@reverse", true},
		"Empty":       {"Nothing is no path.", "", true},
		"Dot":         {"Nor is what begins with a dot.", ".spec", true},
		"Long":        {"A path has a limit.", strings.Repeat("a", pathMax+1), true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseTarget(tc.path); (err != nil) != tc.refused {
				t.Errorf("%s: want refused %t, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

func TestSet(t *testing.T) {
	const most = 1000
	type want struct {
		document string
		refused  bool
	}
	changed := func(old, by string) want { return want{document: strings.ReplaceAll(document, old, by)} }
	for name, tc := range map[string]struct {
		reason, path, raw string
		want              want
	}{
		"Key":         {"A number can be a key.", "data.20240101", `"b"`, changed(`:"a"`, `:"b"`)},
		"NewKey":      {"Also one that is not there.", "data.20240102", `"b"`, changed(`:"a"`, `:"a","20240102":"b"`)},
		"NewMap":      {"Nothing makes a long list.", "new.20240102", `"b"`, changed(`two","tags":["r"]}]`, `two","tags":["r"]}],"new":{"20240102":"b"}`)},
		"EscapedKey":  {"A part of a key is none.", `data.a\.20240102`, `"b"`, changed(`:"a"`, `:"a","a.20240102":"b"`)},
		"LongIndex":   {"A list is not made longer.", "list.20240101", `"b"`, want{refused: true}},
		"Index":       {"Indexes work.", "list.1", `"z"`, changed(`"y"`, `"z"`)},
		"Each":        {"Each value is set, where there is one.", "items.#.name", `"long name"`, want{document: strings.NewReplacer(`"one"`, `"long name"`, `"two"`, `"long name"`).Replace(document)}},
		"Query":       {"One that is searched for.", `items.#(name=="two").tags.0`, `"s"`, changed(`"r"`, `"s"`)},
		"QueryMiss":   {"None is found.", `items.#(name=="three").tags.0`, `"s"`, want{document: document}},
		"None":        {"Of none, none is set.", "none.#.name", `"s"`, want{document: document}},
		"Wildcard":    {"The first that matches.", "li*.0", `"s"`, changed(`"x"`, `"s"`)},
		"Number":      {"The number of values has no place.", "items.#", `7`, want{refused: true}},
		"TooLarge":    {"An object does not get too large.", "list.0", `"` + strings.Repeat("x", most) + `"`, want{refused: true}},
		"TooLargeAll": {"Nor by many values.", "items.#.name", `"` + strings.Repeat("x", most/2) + `"`, want{refused: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ParseTarget(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Set([]byte(document), most, tc.raw)
			got := want{refused: err != nil}
			if err == nil {
				got.document = string(out)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	for path, want := range map[string]string{
		"data.20240101": strings.Replace(document, `"20240101":"a"`, "", 1),
		"data.20240102": document,
		"list.0":        strings.Replace(document, `"x",`, "", 1),
	} {
		p, err := ParseTarget(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Delete([]byte(document)); string(got) != want || err != nil {
			t.Errorf("%s: want %s, got %s, %v", path, want, got, err)
		}
	}
}

// FuzzSplice looks for paths by which anything else is changed than what they select.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{"items.#.name", `items.#(name=="two")#.tags`, "items.#.tags.0", "*.#.name", "items.1.size", "items.#(tags.#(==\"p\")).name", "data.2024*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := ParseTarget(path)
		if err != nil {
			return
		}
		same, err := p.Splice([]byte(document), 1<<20, func(r gjson.Result) (string, error) { return r.Raw, nil })
		if err == nil && string(same) != document {
			t.Errorf("%q: what is set to itself becomes %s", path, same)
		}
		out, err := p.Splice([]byte(document), 1<<20, func(gjson.Result) (string, error) { return "null", nil })
		if err == nil && !gjson.ValidBytes(out) {
			t.Errorf("%q: %s is no JSON", path, out)
		}
	})
}

func TestApply(t *testing.T) {
	long := strings.Repeat("http://", inputMax/7+1)
	type want struct {
		text string
		err  error
	}
	for name, tc := range map[string]struct {
		reason, pattern, by, text string
		want                      want
	}{
		"Group":       {"Groups as Go has them.", "my-(.*)", "${1}_x", "my-name", want{text: "name_x"}},
		"GroupAndAll": {"Without braces what follows belongs to the name.", "my-(.*)", "$1_x", "my-name", want{}},
		"OlderGroup":  {"Groups as older documents have them.", "my-(.*)", `\1_x`, "my-name", want{text: "name_x"}},
		"All":         {"Without a pattern all is replaced, however long it is.", "", "x", long, want{text: "x"}},
		"Long":        {"A long text is not searched.", `https?://([^@]*@)?`, "", long, want{err: ErrTooLong}},
		"Longer":      {"Nor does a text get too long.", "h", strings.Repeat("x", patternMax), long[:inputMax], want{err: ErrTooLong}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReplacement(tc.pattern, tc.by)
			if err != nil {
				t.Fatal(err)
			}
			var got want
			got.text, got.err = r.Apply(tc.text)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestValue(t *testing.T) {
	v := NewValue(gjson.Parse(document))
	get := func(path string) Value {
		t.Helper()
		out, err := v.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	list, err := get("list").Array()
	if err != nil {
		t.Fatal(err)
	}
	data, err := get("data").Map()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := list[0].Get("@this")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		get("items.1.size").Int(), get("items.1.size").Float(), get("items.1.size").Bool(), get("list").IsArray(), get("data").IsObject(),
		get("list|@tostr").Exists(), inner.Exists(), list[1].String(), data["20240101"].String(),
	}
	if diff := cmp.Diff([]any{int64(1), 1.0, true, true, true, false, false, "y", "a"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestValueIsSearchedSoOften(t *testing.T) {
	large := NewValue(gjson.Parse(`["` + strings.Repeat("x", 1<<20) + `"]`))
	var err error
	calls := 0
	for ; err == nil && calls < 1000; calls++ {
		var inner []Value
		if inner, err = large.Array(); err == nil {
			_, err = inner[0].Get("x")
		}
	}
	if err == nil {
		t.Errorf("a value of a megabyte was searched %d times", calls)
	}
}
