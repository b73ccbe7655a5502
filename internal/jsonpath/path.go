package jsonpath

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

const (
	// indexMax is the highest index of a list that is set. Higher numbers are keys.
	indexMax = 1024
	// pathMax is the length of the longest path, in bytes.
	pathMax = 1024
)

var (
	// parts are the parts of a path, between dots that are not escaped.
	parts = regexp.MustCompile(`(?s)(\\.?|[^.\\])+`)
	// escaped is a character that is a part of a key, and query a condition without another one in it.
	escaped, query = regexp.MustCompile(`(?s)\\.`), regexp.MustCompile(`(?s)\(([^()"]|"[^"]*")*\)`)
)

// A Path is a path to a value, or to several.
type Path struct {
	text    string
	set     string // as sjson has it: numbers that are no index are keys
	complex bool
}

// Parse checks a path.
func Parse(text string) (Path, error) {
	switch {
	case text == "":
		return Path{}, errors.New("path is empty")
	case len(text) > pathMax:
		return Path{}, errors.Errorf("path is longer than %d bytes", pathMax)
	case strings.HasPrefix(text, "."):
		return Path{}, errors.New("path begins with a dot")
	case strings.ContainsAny(text, "@!{[\x00"):
		return Path{}, errors.New("path has one of @, !, { and [, which are not supported")
	}
	return Path{text: text, set: withKeys(text), complex: strings.ContainsAny(text, "#*?|")}, nil
}

// withKeys marks the parts of a path that are too large for an index as keys, so that no list is made that long.
func withKeys(text string) string {
	return parts.ReplaceAllStringFunc(text, func(part string) string {
		if n, err := strconv.ParseUint(part, 10, 64); err == nil && n > indexMax || errors.Is(err, strconv.ErrRange) {
			return ":" + part
		}
		return part
	})
}

// ParseTarget checks a path to what is to be set. Of several values, gjson tells the places only behind one #.
func ParseTarget(text string) (Path, error) {
	p, err := Parse(text)
	if err != nil {
		return Path{}, err
	}
	const found = "\x00" // No path has it.
	rest, before := escaped.ReplaceAllString(text, ""), ""
	for rest != before { // The innermost queries go first.
		rest, before = query.ReplaceAllString(rest, found), rest
	}
	if strings.Contains(rest, "|") {
		return Path{}, errors.New("path has |, after which no value can be set")
	}
	if strings.Count(rest, "#")-strings.Count(rest, "#"+found) > 1 { // #(…) selects one value.
		return Path{}, errors.New("path has more than one #, after which no value can be set")
	}
	return p, nil
}

// Complex reports whether the path has to be searched for, and may select several values.
func (p Path) Complex() bool { return p.complex }

// Get returns the value in a document. It does not exist if it is missing.
func (p Path) Get(document []byte) gjson.Result { return gjson.GetBytes(document, p.text) }

// ErrNoPlace means that a path selects what is nowhere in the document, like a number of values.
var ErrNoPlace = errors.New("path selects values that cannot be set")

// Splice returns a document with the value of a path, or each of several, replaced by other JSON, of at most so many
// bytes. Without a value it is the document itself.
func (p Path) Splice(document []byte, most int, by func(gjson.Result) (string, error)) ([]byte, error) {
	values, err := p.matches(document)
	if err != nil || len(values) == 0 {
		return document, err
	}
	var out []byte
	last := 0
	for _, v := range values {
		raw, err := by(v)
		if err != nil {
			return nil, err
		}
		out = append(append(out, document[last:v.Index]...), raw...)
		last = v.Index + len(v.Raw)
		if len(out)+len(document)-last > most {
			return nil, errors.Errorf("the object becomes larger than %d bytes", most)
		}
	}
	return append(out, document[last:]...), nil
}

// matches returns the values that a path selects, with their places in the document, in order.
func (p Path) matches(document []byte) ([]gjson.Result, error) {
	found := p.Get(document)
	values := []gjson.Result{found}
	switch {
	case !found.Exists(), found.Index == 0 && found.Raw == "[]":
		return nil, nil // Behind # there may be nothing.
	case len(found.Indexes) > 0:
		values = found.Array()
		if len(values) != len(found.Indexes) {
			return nil, ErrNoPlace
		}
		for i := range values {
			values[i].Index = found.Indexes[i]
		}
		slices.SortFunc(values, func(a, b gjson.Result) int { return cmp.Compare(a.Index, b.Index) })
	}
	last := 1
	for _, v := range values {
		if v.Index < last || !bytes.HasPrefix(document[min(v.Index, len(document)):], []byte(v.Raw)) {
			return nil, ErrNoPlace
		}
		last = v.Index + len(v.Raw)
	}
	return values, nil
}

// Set returns a document with the value of a path, or each of several, set. One that is missing is made; of several
// none is.
func (p Path) Set(document []byte, most int, raw string) ([]byte, error) {
	if p.complex {
		return p.Splice(document, most, func(gjson.Result) (string, error) { return raw, nil })
	}
	if len(document)+len(raw) > most {
		return nil, errors.Errorf("the object becomes larger than %d bytes", most)
	}
	out, err := sjson.SetRawBytes(document, p.set, []byte(raw))
	if err != nil {
		return nil, errors.New("the value cannot be set at the path")
	}
	return out, nil
}

// Delete returns a document without the value of a path.
func (p Path) Delete(document []byte) ([]byte, error) {
	if !p.Get(document).Exists() {
		return document, nil
	}
	out, err := sjson.DeleteBytes(document, p.set)
	return out, errors.Wrap(err, "cannot delete value")
}

const (
	// inputMax is the length of the longest text that a pattern is looked for in, in bytes. For some patterns that
	// takes time as the square of the text.
	inputMax = 16 << 10
	// textMax is the length of the longest text that a replacement makes, in bytes.
	textMax = 1 << 20
)

// ErrTooLong means that a text is too long for a regular expression, or gets so.
var ErrTooLong = errors.New("text is too long for a regular expression")

// A Replacement changes a text.
type Replacement struct {
	pattern *regexp.Regexp // nil to replace all
	by      string
}

// older is a group as older documents write it.
var older = regexp.MustCompile(`\\(\d+)`)

// NewReplacement compiles a pattern. Without one, the whole text is replaced.
func NewReplacement(pattern, by string) (Replacement, error) {
	if pattern == "" {
		return Replacement{by: by}, nil
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return Replacement{}, errors.Wrap(err, "pattern is invalid")
	}
	return Replacement{pattern: expression, by: older.ReplaceAllString(by, "$${$1}")}, nil
}

// Cost returns what to count a text by before the replacement is applied: the square of its length, or 0 without a
// pattern.
func (r Replacement) Cost(text string) int {
	if r.pattern == nil {
		return 0
	}
	return len(text) * len(text)
}

// Apply returns the changed text. The cause of an error is ErrTooLong.
func (r Replacement) Apply(text string) (string, error) {
	if r.pattern == nil {
		return r.by, nil
	}
	if len(text) > inputMax {
		return "", errors.Wrapf(ErrTooLong, "the text has %d bytes", len(text))
	}
	var out []byte
	last := 0
	for _, match := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, text[last:match[0]]...)
		out = r.pattern.ExpandString(out, r.by, text, match)
		last = match[1]
		if len(out) > textMax {
			return "", errors.Wrapf(ErrTooLong, "the text would become longer than %d bytes", textMax)
		}
	}
	return string(append(out, text[last:]...)), nil
}

// A Value is a value as templates see it: by the methods of gjson, which make it no larger.
type Value struct{ gjson.Result }

// Get returns a value within this one, and one that does not exist for a path that is not supported.
func (v Value) Get(path string) Value {
	p, err := Parse(path)
	if err != nil {
		return Value{}
	}
	return Value{v.Result.Get(p.text)}
}

// Array returns the elements of a list; of a value that is none, the value itself.
func (v Value) Array() []Value {
	var out []Value
	for _, r := range v.Result.Array() {
		out = append(out, Value{r})
	}
	return out
}

// Map returns the values of a map by their keys, none for a value that is no map.
func (v Value) Map() map[string]Value {
	out := map[string]Value{}
	for k, r := range v.Result.Map() {
		out[k] = Value{r}
	}
	return out
}
