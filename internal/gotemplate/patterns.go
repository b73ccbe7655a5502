package gotemplate

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// patternMax is the length of the longest regular expression, in bytes.
	patternMax = 1024
	// repetitionCost is the cost of compiling a repetition, which makes copies of what it repeats.
	repetitionCost = 1000
	// stepsPerCost is how many steps of a program of a regular expression cost one.
	stepsPerCost = 8
	// retriesPerCost is how many of those cost one that all matches of a text take if each begins anew: its square.
	retriesPerCost = 1024
)

// match returns the cost of a search for one match.
func match(c cost) int {
	size, ok := states(c.text(0))
	if !ok {
		return math.MaxInt
	}
	return size + min(size, costMax)*len(c.text(1))/stepsPerCost
}

// matches returns the cost of a search for all matches. For some patterns each takes as long as the text is.
func matches(c cost) int {
	size, ok := states(c.text(0))
	n := len(c.text(1))
	if !ok || n > costMax {
		return math.MaxInt
	}
	return match(c) + n*n/retriesPerCost*min(size, costMax)
}

// replaceAll returns the cost of replacing each match: the replacement, and what it repeats of the match.
func replaceAll(c cost) int {
	n := matches(c)
	if n > costMax {
		return n
	}
	expression, err := regexp.Compile(c.text(0))
	if err != nil {
		return n
	}
	s, by := c.text(1), c.text(2)
	return n + len(expression.FindAllStringIndex(s, -1))*len(by) + strings.Count(by, "$")*len(s)
}

// states returns the cost of compiling a pattern: the size of its program, or what its repetitions may make of it. It
// is not compiled if that is too much. What is no pattern costs nothing more.
func states(pattern string) (int, bool) {
	repeated := repetitionCost * strings.Count(pattern, "{")
	if len(pattern) > patternMax || repeated > costMax {
		return 0, false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern), true
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return len(pattern), true
	}
	return len(program.Inst) + repeated, true
}
