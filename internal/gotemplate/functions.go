package gotemplate

import (
	"crypto/sha1" //nolint:gosec // It makes names, as api-syncagent does.
	"crypto/sha3"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/pkg/errors"
)

// known returns all functions of templates, within their limits.
var known = sync.OnceValue(func() template.FuncMap {
	all, m := sprig.TxtFuncMap(), template.FuncMap{}
	for name := range strings.FieldsSeq(allowed) {
		m[name] = all[name]
	}
	maps.Copy(m, template.FuncMap{
		"sha3sum":   sha3sum,
		"sha3short": sha3short,
		"shortHash": func(v any) string { return ShortSHA1(text(v)) },
		"keys":      keys,
		"values":    values,
		// These are built in.
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
	})
	limited(m)
	return m
})

// SHA1 returns the SHA-1 of a text in hexadecimal digits.
func SHA1(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // It makes names, as api-syncagent does.
	return hex.EncodeToString(sum[:])
}

// shortLength is how many digits of a hash names are made of.
const shortLength = 20

// ShortSHA1 returns the first 20 digits of SHA1.
func ShortSHA1(s string) string { return SHA1(s)[:shortLength] }

// text returns what a value writes, nothing for one that is missing.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func sha3sum(v any) string {
	sum := sha3.Sum256([]byte(text(v)))
	return hex.EncodeToString(sum[:])
}

// sha3short returns the first digits of sha3sum: 20, or as many as are asked for.
func sha3short(v any, length ...int) (string, error) {
	sum, n := sha3sum(v), shortLength
	if len(length) > 0 {
		n = length[0]
	}
	if len(length) > 1 || n < 1 || n > len(sum) {
		return "", errors.Errorf("length must be one number from 1 to %d", len(sum))
	}
	return sum[:n], nil
}

// keys returns the keys of maps, in order.
func keys(dicts ...map[string]any) []string {
	var all []string
	for _, d := range dicts {
		all = append(all, slices.Sorted(maps.Keys(d))...)
	}
	return all
}

// values returns the values of a map, in the order of their keys.
func values(d map[string]any) []any {
	var all []any
	for _, k := range slices.Sorted(maps.Keys(d)) {
		all = append(all, d[k])
	}
	return all
}

// allowed are the functions of sprig that templates know. They yield the same each time, and end soon. One that a later
// version of sprig adds stays out until it is listed here.
const allowed = `
	abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
	camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy deepEqual default dict dig dir
	div divf duration durationRound empty ext fail first float64 floor fromJson get has hasKey hasPrefix hasSuffix
	hello indent initial initials int int64 isAbs join kebabcase kindIs kindOf last list lower max maxf merge
	mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDeepCopy mustFirst mustFromJson
	mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll
	mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice
	mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout nindent nospace omit osBase osClean osDir osExt
	osIsAbs pick pluck plural prepend push quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
	regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum
	sha256sum sha512sum slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary
	title toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix trimall
	trunc tuple typeIs typeIsLike typeOf uniq unset until untilStep untitle upper urlJoin urlParse without wrap
	wrapWith
`
