package jsonpath

import (
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// evaluationMax is how long a path or a pattern that a tenant writes may take. A busy machine is slower than the
// software.
const evaluationMax = 10 * time.Second

// FuzzSet looks for paths that break a document, make more of it than is allowed, or set another value than they say.
func FuzzSet(f *testing.F) {
	for _, s := range []string{
		"items.#.name", "list.1", "list.-1", "list.7", "data.20240102", "new.a.b", `data.a\.b`, "items.0.tags.0", "a.:1", "*",
		"data.?", "items.#",
	} {
		f.Add(s, `"z"`)
	}
	f.Add("data", `{"a":[1,2,{"b":null}]}`)
	f.Fuzz(func(t *testing.T, path, raw string) {
		const most = 1 << 16
		p, err := ParseTarget(path)
		if err != nil || !gjson.Valid(raw) {
			return
		}
		began := time.Now()
		out, err := p.Set([]byte(document), most, raw)
		if took := time.Since(began); took > evaluationMax {
			t.Errorf("%q: it took %s", path, took)
		}
		if err != nil {
			return
		}
		if len(out) > most+indexMax*len("null,") {
			t.Errorf("%q: %d bytes of %d and %d", path, len(out), len(document), len(raw))
		}
		if !gjson.ValidBytes(out) {
			t.Errorf("%q set to %q: %s is no JSON", path, raw, out)
		}
		if rest, err := p.Delete(out); err == nil && !gjson.ValidBytes(rest) {
			t.Errorf("%q deleted: %s is no JSON", path, rest)
		}
	})
}

// FuzzReplacement looks for patterns that take long, or make long texts.
func FuzzReplacement(f *testing.F) {
	f.Add("https?://([^@]*@)?", `\1`, "https://a@b")
	f.Add("(a*)*b", "$1$1$1", strings.Repeat("a", 1000))
	f.Add("", "all", "text")
	f.Add("(?i)x{1,100}", "${1}", "XxX")
	f.Fuzz(func(t *testing.T, pattern, by, text string) {
		r, err := NewReplacement(pattern, by)
		if err != nil {
			return
		}
		began := time.Now()
		out, err := r.Apply(text)
		if took := time.Since(began); took > evaluationMax {
			t.Errorf("%q, %q: it took %s", pattern, by, took)
		}
		if limit := textMax + len(by)*inputMax + len(text); err == nil && len(out) > limit {
			t.Errorf("%q, %q: %d bytes, want at most %d", pattern, by, len(out), limit)
		}
	})
}
