package jsonpath

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"
)

const document = `{"data":{"20240101":"a"},"list":["x","y"],"none":[],"items":[{"name":"one","tags":["p","q"]},` +
	`{"size":1},{"name":"two","tags":["r"]}]}`

func TestParseTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, path string
		refused      bool
	}{
		"Plain": {reason: "A path.", path: "spec.list.0.name", refused: false},
		"Each":  {reason: "All of a list.", path: "spec.items.#.name", refused: false},
		"Query": {reason: "One of a list.", path: `spec.items.#(name=="a|#b").name`, refused: false},
		"QueryInside": {
			reason:  "A query may look into lists.",
			path:    `spec.items.#(tags.#(=="p")).name`,
			refused: false,
		},
		"Escaped": {
			reason:  "What is escaped is a part of a key.",
			path:    `metadata.labels.a\|b\#c\#d`,
			refused: false,
		},
		"Key":        {reason: "A number can be a key.", path: "data.20240101", refused: false},
		"Pipe":       {reason: "Behind | places are wrong.", path: "spec.items|#.name", refused: true},
		"PipeBehind": {reason: "Also behind a query.", path: `spec.items.#(name=="a")|name`, refused: true},
		"Nested":     {reason: "And behind a second #.", path: "spec.items.#.list.#.name", refused: true},
		"All":        {reason: "As #()# is one.", path: `spec.items.#(size>1)#.list.#.name`, refused: true},
		"Modifier":   {reason: "Modifiers are refused.", path: "spec.@reverse", refused: true},
		"Empty":      {reason: "Nothing is no path.", path: "", refused: true},
		"Dot":        {reason: "Nor is what begins with a dot.", path: ".spec", refused: true},
		"Long":       {reason: "A path has a limit.", path: strings.Repeat("a", pathMax+1), refused: true},
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
		"Key": {reason: "A number can be a key.", path: "data.20240101", raw: `"b"`, want: changed(`:"a"`, `:"b"`)},
		"NewMap": {
			reason: "Nothing makes a long list.",
			path:   "new.20240102",
			raw:    `"b"`,
			want:   changed(`two","tags":["r"]}]`, `two","tags":["r"]}],"new":{"20240102":"b"}`),
		},
		"EscapedKey": {
			reason: "A part of a key is none.",
			path:   `data.a\.20240102`,
			raw:    `"b"`,
			want:   changed(`:"a"`, `:"a","a.20240102":"b"`),
		},
		"LongIndex": {
			reason: "A list is not made longer.",
			path:   "list.20240101",
			raw:    `"b"`,
			want:   want{refused: true},
		},
		"Index": {reason: "Indexes work.", path: "list.1", raw: `"z"`, want: changed(`"y"`, `"z"`)},
		"Each": {
			reason: "Each value is set, where there is one.",
			path:   "items.#.name",
			raw:    `"long name"`,
			want: want{document: strings.NewReplacer(`"one"`, `"long name"`, `"two"`,
				`"long name"`).Replace(document)},
		},
		"Query": {
			reason: "One that is searched for.",
			path:   `items.#(name=="two").tags.0`,
			raw:    `"s"`,
			want:   changed(`"r"`, `"s"`),
		},
		"QueryMiss": {
			reason: "None is found.",
			path:   `items.#(name=="three").tags.0`,
			raw:    `"s"`,
			want:   want{document: document},
		},
		"None":     {reason: "Of none, none is set.", path: "none.#.name", raw: `"s"`, want: want{document: document}},
		"Wildcard": {reason: "The first that matches.", path: "li*.0", raw: `"s"`, want: changed(`"x"`, `"s"`)},
		"Number": {
			reason: "The number of values has no place.",
			path:   "items.#",
			raw:    `7`,
			want:   want{refused: true},
		},
		"TooLarge": {
			reason: "An object does not get too large.",
			path:   "list.0",
			raw:    `"` + strings.Repeat("x", most) + `"`,
			want:   want{refused: true},
		},
		"TooLargeAll": {
			reason: "Nor by many values.",
			path:   "items.#.name",
			raw:    `"` + strings.Repeat("x", most/2) + `"`,
			want:   want{refused: true},
		},
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
	for _, s := range []string{
		"items.#.name", `items.#(name=="two")#.tags`, "items.#.tags.0", "*.#.name", "items.1.size",
		"items.#(tags.#(==\"p\")).name", "data.2024*",
	} {
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
		"Group": {
			reason:  "Groups as Go has them.",
			pattern: "my-(.*)",
			by:      "${1}_x",
			text:    "my-name",
			want:    want{text: "name_x"},
		},
		"OlderGroup": {
			reason:  "Groups as older documents have them.",
			pattern: "my-(.*)",
			by:      `\1_x`,
			text:    "my-name",
			want:    want{text: "name_x"},
		},
		"All": {
			reason:  "Without a pattern all is replaced, however long it is.",
			pattern: "",
			by:      "x",
			text:    long,
			want:    want{text: "x"},
		},
		"Long": {
			reason:  "A long text is not searched.",
			pattern: `https?://([^@]*@)?`,
			by:      "",
			text:    long,
			want:    want{err: ErrTooLong},
		},
		"Longer": {
			reason:  "Nor does a text get too long.",
			pattern: "h",
			by:      strings.Repeat("x", 1024),
			text:    long[:inputMax],
			want:    want{err: ErrTooLong},
		},
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
	v := Value{gjson.Parse(document)}
	list := v.Get("list").Array()
	got := []any{
		v.Get("items.1.size").Int(), v.Get("items.1.size").Float(), v.Get("items.1.size").Bool(), v.Get("list").IsArray(),
		v.Get("data").IsObject(), v.Get("list|@tostr").Exists(), list[0].Get("@this").Exists(), list[1].String(),
		v.Get("data").Map()["20240101"].String(),
	}
	if diff := cmp.Diff([]any{int64(1), 1.0, true, true, true, false, false, "y", "a"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
