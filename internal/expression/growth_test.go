package expression

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
)

// growth has the functions and operators of the environment by expressions that call them. NAME stands for each of the
// functions in turn.
var growth = map[string]string{
	"v.flag && !v.flag || v.flag ? v.text : v.text": "_&&_ _||_ !_ _?_:_ @not_strictly_false __not_strictly_false__",
	"-v.number":             "-_",
	"v.number % 7":          "_%_",
	"v.number * 7":          "_*_",
	"[v.text + v.text]":     "_+_",
	"[v.shared + v.shared]": "_+_",
	"v.number - 7":          "_-_",
	"v.number / 7":          "_/_",
	"v.text < v.same":       "_<_ _<=_ _>_ _>=_",
	"v.text == v.same":      "_==_",
	"v.shared == v.alike":   "_==_",
	"v.shared != v.alike":   "_!=_",
	"v.many in v.shared":    "@in in _in_",
	"v.text in v.map":       "@in in _in_",
	"v.?text":               "_?._",
	"v.many[?7]":            "_[?_]",
	"v.many[7]":             "_[_]",
	"NAME(v.text)": "bool bytes double duration dyn int timestamp uint string type size cidr ip ip.isCanonical " +
		"isCIDR isIP quantity isQuantity semver isSemver url isURL strings.quote format.named",
	"NAME(v.digits)":                   "double duration int uint semver isSemver quantity isQuantity timestamp",
	"NAME(v.bytes)":                    "string size base64.encode",
	"NAME(v.shared)":                   "size type dyn optional.of optional.ofNonZeroValue",
	"[NAME(v.shared, v.alike)]":        "sets.contains sets.equivalent sets.intersects",
	"[NAME(v.many, v.many)]":           "sets.contains sets.equivalent sets.intersects",
	"NAME(v.number)":                   "math.abs math.sign math.sqrt math.bitNot",
	"NAME(v.number, 7)":                "math.bitAnd math.bitOr math.bitXor math.bitShiftLeft math.bitShiftRight",
	"NAME(double(v.number))":           "math.ceil math.floor math.isFinite math.isInf math.isNaN math.round math.trunc",
	"math.greatest(v.many)":            "math.@max",
	"math.least(v.many)":               "math.@min",
	"NAME(v.number * 1000000)":         "lists.range",
	"NAME(10000)":                      "lists.range",
	"NAME()":                           "optional.none",
	"NAME(v.base64)":                   "base64.decode",
	"v.text.NAME()":                    "size trim lowerAscii upperAscii reverse",
	"v.wide.NAME()":                    "size trim lowerAscii upperAscii reverse",
	"v.text.NAME(7)":                   "charAt substring",
	"v.wide.NAME(7)":                   "charAt substring",
	"v.text.NAME(v.same)":              "contains endsWith startsWith indexOf lastIndexOf matches find findAll split",
	"v.text.NAME(v.half)":              "contains endsWith startsWith indexOf lastIndexOf matches find findAll split",
	"v.text.NAME('x')":                 "contains endsWith startsWith indexOf lastIndexOf matches find findAll split",
	"v.text.NAME('')":                  "contains endsWith startsWith indexOf lastIndexOf matches find findAll split",
	"v.text.NAME('(x?){1000}y')":       "matches find findAll",
	"'x'.NAME(v.pattern)":              "matches find findAll",
	"'x'.NAME('(abcdefghij){1000}|x')": "matches find findAll",
	"v.some.NAME('(x?){1000}y')":       "matches find findAll",
	"NAME(v.text, '(x*)y')":            "regex.extract regex.extractAll",
	"NAME('x', v.pattern)":             "regex.extract regex.extractAll",
	"NAME(v.some, '(x?){1000}y')":      "regex.extract regex.extractAll",
	"NAME(v.text, 'x', v.text)":        "regex.replace",
	"NAME(v.some, 'x', v.text)":        "regex.replace",
	"v.text.NAME('x', v.text)":         "replace",
	"v.text.NAME('', 'yyyyyyyy')":      "replace",
	"v.texts.NAME(v.text)":             "join",
	"v.repeated.NAME()":                "join sort min max",
	"'%s %s'.NAME([v.shared, v.text])": "format",
	"'%s'.NAME([v.texts])":             "format",

	"v.shared.NAME()":                        "size first last reverse flatten distinct",
	"v.shared.NAME(5)":                       "flatten",
	"v.shared.NAME(v.many)":                  "indexOf lastIndexOf",
	"v.shared.NAME(0, 1000)":                 "slice",
	"v.many.NAME()":                          "size first last reverse flatten distinct sort sum min max isSorted",
	"v.many.NAME(-1)":                        "indexOf lastIndexOf",
	"v.texts.NAME()":                         "distinct sort min max isSorted",
	"v.many.sortBy(x, -x)":                   "@sortByAssociatedKeys",
	"v.many.transformMap(i, x, x)":           "cel.@mapInsert",
	"v.many.transformMapEntry(i, x, {x: i})": "cel.@mapInsert",

	"optional.of(v.shared).NAME()":                      "hasValue value",
	"optional.of(v.shared).NAME(v.shared)":              "orValue",
	"optional.of(v.shared).NAME(optional.of(v.shared))": "or",
	"[optional.of(v.many)].unwrapOpt()":                 "unwrapOpt optional.unwrap",

	"timestamp(0).NAME()": "getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds " +
		"getMinutes getMonth getSeconds",
	"timestamp(0).NAME(v.text)":                "getDate getHours",
	"quantity('1').NAME(quantity(v.quantity))": "add sub compareTo isGreaterThan isLessThan",
	"quantity(v.quantity).NAME()":              "asInteger asApproximateFloat isInteger",
	"[NAME(quantity(v.quantity))]":             "sign",
	"semver(v.semver).NAME()":                  "major minor patch",
	"semver(v.semver).NAME(semver(v.semver))":  "compareTo isGreaterThan isLessThan",
	"url(v.url).NAME()":                        "getEscapedPath getHost getHostname getPort getQuery getScheme",
	"ip('::1').NAME()": "family isGlobalUnicast isLinkLocalMulticast isLinkLocalUnicast isLoopback " +
		"isUnspecified",
	"cidr('::1/128').NAME()":       "ip masked prefixLength",
	"cidr('::1/128').NAME(v.text)": "containsCIDR containsIP",
	"NAME().validate(v.text)": "format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix " +
		"format.dns1123Label format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix " +
		"format.labelValue format.qualifiedName format.uri format.uuid",
	"format.dns1123Label().NAME(v.text)": "validate",
}

// grown returns values of 1 MiB in several shapes, and lists as an expression can make them, which hold one list often.
func grown() map[string]any {
	const size = 1 << 20
	v := large("x")
	many := v["many"]
	repeated, texts := make([]any, 1000), make([]any, 50_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("%020d", i)
	}
	text, same := strings.Repeat("x", size), strings.Repeat("x", size)
	for i := range repeated {
		repeated[i] = []any{text, same}[i%2]
	}
	maps.Copy(v, map[string]any{
		"flag": true, "number": int64(12345), "many": many, "texts": texts, "repeated": repeated,
		"text": text, "same": strings.Repeat("x", size), "half": text[:size/2] + "y", "some": text[:16<<10],
		"wide": strings.Repeat("ü", size/2), "digits": strings.Repeat("1", size), "bytes": []byte(text),
		"base64":  strings.Repeat("QUFB", size/4),
		"pattern": strings.Repeat("(a)|", size/4) + "b", "map": map[string]any{"a": many},
		"shared": slices.Repeat([]any{many}, 1000), "alike": slices.Repeat([]any{many}, 1000),
		"quantity": strings.Repeat("9", 60), "semver": "1.2.3-" + strings.Repeat("a.", size/2) + "a",
		"url": "https://a/" + text,
	})
	return v
}

// TestGrowth calls all functions that expressions may use with much, once and often. A function that a library adds has
// no expression, and fails the test.
func TestGrowth(t *testing.T) {
	environment := NewEnvironment("CEL expression", "v")
	c, err := environment.env()
	if err != nil {
		t.Fatal(err)
	}
	called, texts, resource := map[string]bool{}, map[string]bool{}, grown()
	for call, names := range growth {
		for name := range strings.FieldsSeq(names) {
			called[name] = true
			texts[strings.ReplaceAll(call, "NAME", name)] = true
		}
	}
	there := slices.Sorted(maps.Keys(c.env.Functions()))
	if diff := cmp.Diff(there, slices.Sorted(maps.Keys(called))); diff != "" {
		t.Errorf("functions: -there, +called:\n%s", diff)
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		checkGrowth(t, environment, text, resource, 64<<20)
		checkGrowth(t, environment, "lists.range(2000).filter(i, ["+text+"].size() > 1)", resource, 512<<20)
	}
}

// checkGrowth evaluates an expression, which may take some memory.
func checkGrowth(t *testing.T, environment Environment, text string, v map[string]any, most uint64) {
	t.Helper()
	p, err := environment.Compile(text, cel.DynType)
	if err != nil {
		t.Fatal(text, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = p.Eval(map[string]any{"v": v})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%q took %d MiB of memory: %v", text, took>>20, err)
	}
}
