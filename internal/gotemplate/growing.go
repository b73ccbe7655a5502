package gotemplate

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

const (
	// patternMax is the length of the longest regular expression, in bytes.
	patternMax = 1024
	// repetitionCost is the cost of compiling a repetition, which makes copies of what it repeats.
	repetitionCost = 1000
	// stepsPerCost is how many steps of a regular expression cost one, and retriesPerCost how many of those that all
	// matches of a text take if each begins anew: its square.
	stepsPerCost, retriesPerCost = 8, 1024
)

// growing are upper bounds of what functions make or compare that can make much of little, or compare all with all.
var growing = map[string]func(a arguments) int{
	"repeat":      func(a arguments) int { return product(a.size(0), a.size(1)) },
	"until":       span,
	"untilStep":   span,
	"seq":         span,
	"indent":      indented,
	"nindent":     indented,
	"wrapWith":    func(a arguments) int { return product(a.size(1), a.size(2)) },
	"join":        func(a arguments) int { return product(a.size(0), a.size(1)) },
	"replace":     func(a arguments) int { return product(strings.Count(a.text(2), a.text(0)), a.size(1)) },
	"printf":      formatted,
	"uniq":        func(a arguments) int { return product(a.size(0), a.size(0)) },
	"mustUniq":    func(a arguments) int { return product(a.size(0), a.size(0)) },
	"without":     func(a arguments) int { return product(a.size(0), len(a)) },
	"mustWithout": func(a arguments) int { return product(a.size(0), len(a)) },
	"omit":        func(a arguments) int { return product(a.size(0), len(a)) },

	"regexMatch": match, "mustRegexMatch": match, "regexFind": match, "mustRegexFind": match, "regexFindAll": matches,
	"mustRegexFindAll": matches, "regexSplit": matches, "mustRegexSplit": matches,
	"regexReplaceAll": replaceAll, "mustRegexReplaceAll": replaceAll, "regexReplaceAllLiteral": replaceAll,
	"mustRegexReplaceAllLiteral": replaceAll,
}

// Arguments are those of one call.
type arguments []reflect.Value

// size returns the absolute value of a number, limited to what cannot overflow, and the length of all else.
func (a arguments) size(i int) int {
	if i >= len(a) {
		return 0
	}
	v := a[i]
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.CanInt() {
		return int(min(max(v.Int(), -v.Int()-1), costMax+1))
	}
	return length(v)
}

// text returns an argument that is a text.
func (a arguments) text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := text(a[i])
	return s
}

// product does not overflow.
func product(a, b int) int { return min(min(a, costMax+1)*min(b, costMax+1), costMax+1) }

// span returns an upper bound of the cost of a list of numbers: its ends are arguments.
func span(a arguments) int {
	n := 0
	for i := range a {
		n += product(a.size(i), stepCost)
	}
	return n
}

func indented(a arguments) int { return product(a.size(0), 1+strings.Count(a.text(1), "\n")) }

var digits = regexp.MustCompile(`\d+`)

// formatted bounds what printf makes: each verb may write all arguments, and be as wide as a number says, which is an
// argument for *.
func formatted(a arguments) int {
	format := a.text(0)
	n, widest, all := 0, 0, 0
	for _, d := range digits.FindAllString(format, -1) {
		w, err := strconv.Atoi(d)
		if err != nil {
			return math.MaxInt
		}
		n += min(w, costMax+1)
	}
	for i := range a {
		all += len(fmt.Sprint(a[i]))
		if strings.Contains(format, "*") {
			widest = max(widest, a.size(i))
		}
	}
	return n + product(strings.Count(format, "%"), widest+all)
}

// match bounds a search for one match: each state of the expression may be looked at for each byte of the text.
func match(a arguments) int {
	states := states(a.text(0))
	return states + states*a.size(1)/stepsPerCost
}

// matches bounds a search for all matches. For some patterns each takes as long as the text is.
func matches(a arguments) int {
	n := a.size(1)
	return match(a) + n*n/retriesPerCost*states(a.text(0))
}

// replaceAll bounds the replacement of each match, by a text or what is repeated of the match.
func replaceAll(a arguments) int { return matches(a) + product(a.size(1), a.size(2)) }

// states returns the size of the program of a regular expression. What is none makes nothing.
func states(pattern string) int {
	if len(pattern) > patternMax {
		return costMax
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return len(pattern)
	}
	return len(program.Inst) + repetitionCost*strings.Count(pattern, "{")
}
