package jsonpath

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
)

const (
	// indexMax is the highest index of a list.
	indexMax = 1024
	// pathMax is the length of the longest path, in bytes, and patternMax that of the longest pattern.
	pathMax    = 1024
	patternMax = 1024
	// textMax is the length of the longest text that a replacement makes, in bytes.
	textMax = 1 << 20
)

// A Path is a path to a value, or to several.
type Path struct {
	text    string
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
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '|' }) {
		if n, err := strconv.ParseUint(part, 10, 64); err == nil && n > indexMax {
			return Path{}, errors.Errorf("index %d is greater than %d", n, indexMax)
		} else if errors.Is(err, strconv.ErrRange) {
			return Path{}, errors.Errorf("an index is greater than %d", indexMax)
		}
	}
	return Path{text: text, complex: strings.ContainsAny(text, "#*?|")}, nil
}

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// Complex says whether the path has to be searched for, and may select several values.
func (p Path) Complex() bool { return p.complex }

// Get returns the value in a document. It does not exist if it is missing.
func (p Path) Get(document []byte) gjson.Result { return gjson.GetBytes(document, p.text) }

// Each returns the values that a result consists of, with their places in the document: itself, or those of a path with #.
func Each(r gjson.Result) []gjson.Result {
	if r.IsArray() && len(r.Array()) == 0 {
		return nil
	}
	if len(r.Indexes) == 0 {
		return []gjson.Result{r}
	}
	values := r.Array()
	if len(values) != len(r.Indexes) {
		return nil
	}
	for i := range values {
		values[i].Index = r.Indexes[i]
	}
	return values
}

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
	if len(pattern) > patternMax || len(by) > patternMax {
		return Replacement{}, errors.Errorf("pattern or replacement is longer than %d bytes", patternMax)
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return Replacement{}, errors.Wrap(err, "pattern is invalid")
	}
	return Replacement{pattern: expression, by: older.ReplaceAllString(by, "$${$1}")}, nil
}

// Apply returns the changed text.
func (r Replacement) Apply(text string) (string, error) {
	if r.pattern == nil {
		return r.by, nil
	}
	var out []byte
	last := 0
	for _, match := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, text[last:match[0]]...)
		out = r.pattern.ExpandString(out, r.by, text, match)
		last = match[1]
		if len(out) > textMax {
			return "", errors.Errorf("the text gets longer than %d bytes", textMax)
		}
	}
	return string(append(out, text[last:]...)), nil
}
