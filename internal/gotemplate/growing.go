package gotemplate

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// growing estimates the functions that can make much of little.
var growing = map[string]func(c cost) int{
	"repeat":      func(c cost) int { return c.number(0) * len(c.text(1)) },
	"until":       func(c cost) int { return span(c, 0) },
	"untilStep":   func(c cost) int { return span(c, 1) },
	"seq":         func(c cost) int { return span(c, len(c.args)-1) },
	"indent":      func(c cost) int { return c.number(0) * (1 + strings.Count(c.text(1), "\n")) },
	"nindent":     func(c cost) int { return c.number(0) * (1 + strings.Count(c.text(1), "\n")) },
	"wrapWith":    func(c cost) int { return len(c.text(1)) * (1 + len(c.text(2))) },
	"wrap":        func(c cost) int { return len(c.text(1)) },
	"abbrev":      func(c cost) int { return len(c.text(1)) },
	"join":        func(c cost) int { return len(c.text(0)) * c.list(1) },
	"replace":     func(c cost) int { return strings.Count(c.text(2), c.text(0)) * len(c.text(1)) },
	"round":       func(c cost) int { return c.number(1) },
	"printf":      format,
	"uniq":        func(c cost) int { return square(c.list(0)) },
	"mustUniq":    func(c cost) int { return square(c.list(0)) },
	"without":     func(c cost) int { return c.list(0) * len(c.args) },
	"mustWithout": func(c cost) int { return c.list(0) * len(c.args) },
	"omit":        func(c cost) int { return c.list(0) * len(c.args) },

	"regexMatch": match, "mustRegexMatch": match, "regexFind": match, "mustRegexFind": match, "regexFindAll": matches,
	"mustRegexFindAll": matches, "regexSplit": matches, "mustRegexSplit": matches,
	"regexReplaceAll": replaceAll, "mustRegexReplaceAll": replaceAll, "regexReplaceAllLiteral": replaceAll,
	"mustRegexReplaceAllLiteral": replaceAll,
}

func square(n int) int { return min(n, costMax) * min(n, costMax) }

// span returns an upper bound of the length of a list of numbers: the distance of its ends, up to argument last.
func span(c cost, last int) int {
	n := 0
	for i := 0; i <= last; i++ {
		v, err := strconv.ParseFloat(fmt.Sprint(c.args[i]), 64)
		if err != nil {
			return 0
		}
		n += int(min(math.Abs(v), costMax+1))
	}
	return n * stepCost
}

var digits = regexp.MustCompile(`\d+`)

// format returns the cost of printf: widths and precisions, given in the format or by an argument, and each argument as
// often as there are verbs.
func format(c cost) int {
	f := c.text(0)
	verbs := strings.Count(f, "%")
	n := 0
	for _, d := range digits.FindAllString(f, -1) {
		w, err := strconv.Atoi(d)
		if err != nil || w > costMax {
			return math.MaxInt
		}
		n += w
	}
	for i := 1; i < len(c.args); i++ {
		n += verbs * len(fmt.Sprint(c.args[i]))
		if strings.Contains(f, "*") {
			n += verbs * c.number(i)
		}
	}
	return n
}
