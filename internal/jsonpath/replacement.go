package jsonpath

import (
	"regexp"

	"github.com/pkg/errors"
)

const (
	// patternMax is the length of the longest pattern and the longest replacement, in bytes.
	patternMax = 1024
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
	if len(pattern) > patternMax || len(by) > patternMax {
		return Replacement{}, errors.Errorf("pattern or replacement is longer than %d bytes", patternMax)
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
		return "", errors.Wrapf(ErrTooLong, "it has %d bytes", len(text))
	}
	var out []byte
	last := 0
	for _, match := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, text[last:match[0]]...)
		out = r.pattern.ExpandString(out, r.by, text, match)
		last = match[1]
		if len(out) > textMax {
			return "", errors.Wrapf(ErrTooLong, "it gets longer than %d bytes", textMax)
		}
	}
	return string(append(out, text[last:]...)), nil
}
