package gotemplate

import (
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// allowed are the functions of sprig that templates know. They yield the same each time, and end soon. One that a later
// version of sprig adds stays out until it is listed here.
const allowed = `
	abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
	camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy deepEqual default dig dir
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

// sprigFunctions returns the functions of sprig that are allowed.
func sprigFunctions() template.FuncMap {
	all, m := sprig.TxtFuncMap(), template.FuncMap{}
	for name := range strings.FieldsSeq(allowed) {
		m[name] = all[name]
	}
	return m
}
