package gotemplate

import (
	"crypto/sha1" //nolint:gosec // It makes names, as api-syncagent does.
	"crypto/sha3"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"text/template"

	"github.com/pkg/errors"
)

// mutators are the functions that change the map they are given.
var mutators = map[string]bool{
	"set": true, "unset": true, "merge": true, "mustMerge": true, "mergeOverwrite": true, "mustMergeOverwrite": true,
}

// known returns all functions of templates, without a budget.
var known = sync.OnceValue(func() template.FuncMap {
	m := sprigFunctions()
	maps.Copy(m, template.FuncMap{
		"sha3sum":   sha3sum,
		"sha3short": sha3short,
		"shortHash": ShortSHA1,
		"dict":      dict,
		"keys":      keys,
		"values":    values,
		// These are built in, and make texts.
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	})
	return m
})

// stubs returns the functions as far as a parser has to know them.
func stubs() template.FuncMap {
	m := maps.Clone(known())
	m[step] = func() string { return "" }
	m[shown] = func(v any) any { return v }
	return m
}

// SHA1 returns the SHA-1 of a text in hexadecimal digits.
func SHA1(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // It makes names, as api-syncagent does.
	return hex.EncodeToString(sum[:])
}

// shortLength is how many digits of a hash names are made of.
const shortLength = 20

// ShortSHA1 returns the first 20 digits of SHA1.
func ShortSHA1(s string) string { return SHA1(s)[:shortLength] }

func sha3sum(s string) string {
	sum := sha3.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// sha3short returns the first digits of sha3sum: 20, or as many as are asked for.
func sha3short(s string, length ...int) (string, error) {
	sum, n := sha3sum(s), shortLength
	if len(length) > 0 {
		n = length[0]
	}
	if len(length) > 1 || n < 1 || n > len(sum) {
		return "", errors.Errorf("length must be one number from 1 to %d", len(sum))
	}
	return sum[:n], nil
}

// dict returns a map of keys and values in turn. Its keys are texts: sprig writes whatever it is given as one, however
// large that is, or without an end.
func dict(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		key, err := text(reflect.ValueOf(pairs[i]))
		if err != nil {
			return nil, err
		}
		m[key] = ""
		if i+1 < len(pairs) {
			m[key] = pairs[i+1]
		}
	}
	return m, nil
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
