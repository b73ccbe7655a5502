package apply

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// masked stands for a value.
	masked = "***"
	// maskedFrom is the length in bytes from which on a text is masked. A shorter one could be part of any word.
	maskedFrom = 4
	// prefixMask is the length in bytes from which on the beginning of a text is masked, too: servers cut long values.
	prefixMask = 8
	// maskMost limits the texts that are looked for.
	maskMost = 256
)

// A mask hides values in texts, in each form in which a server may repeat them.
type mask struct{ long, short []string }

// newMask returns the mask of JSON values, and whether they are few enough to look for all of them.
func newMask(values []any) (mask, bool) {
	var texts []string
	for _, v := range values {
		texts = append(texts, textsIn(v)...)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > maskMost {
		return mask{}, false
	}
	m := mask{}
	for _, text := range texts {
		for _, form := range forms(text) {
			if len(form) < maskedFrom {
				m.short = append(m.short, form)
				continue
			}
			m.long = append(m.long, form)
		}
	}
	// The longest first, as one may be the beginning of another.
	slices.SortFunc(m.long, func(a, b string) int { return len(b) - len(a) })
	return m, true
}

// apply returns a text with the values masked, and whether none is left: a short one cannot be masked.
func (m mask) apply(text string) (string, bool) {
	for _, form := range m.long {
		text = hide(text, form)
	}
	return text, !slices.ContainsFunc(m.short, func(form string) bool { return strings.Contains(text, form) })
}

// hide masks a form of a value in a text, and the beginnings of the form that are long enough.
func hide(text, form string) string {
	begin := form[:min(len(form), prefixMask)]
	var b strings.Builder
	for {
		i := strings.Index(text, begin)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		n := len(begin)
		for n < len(form) && i+n < len(text) && text[i+n] == form[n] {
			n++
		}
		b.WriteString(text[:i] + masked)
		text = text[i+n:]
	}
}

// textsIn returns all texts and numbers in a JSON value, the long words of a text, and what a text encodes in base64.
func textsIn(v any) []string {
	var texts []string
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
		words := slices.DeleteFunc(strings.Fields(v), func(w string) bool { return len(w) < prefixMask })
		texts = append(texts, words...)
		if b, err := base64.StdEncoding.DecodeString(v); err == nil && len(b) > 0 && len(v) >= maskedFrom {
			texts = append(texts, string(b))
		}
	case int64:
		texts = append(texts, strconv.FormatInt(v, 10))
	case float64:
		texts = append(texts, strconv.FormatFloat(v, 'g', -1, 64))
	case map[string]any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	case []any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	}
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// forms returns a text in all encodings in which servers repeat it.
func forms(text string) []string {
	quoted, ascii := strconv.Quote(text), strconv.QuoteToASCII(text)
	encoded, _ := json.Marshal(text) //nolint:errchkjson // A string can always be encoded.
	all := []string{
		text, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], string(encoded[1 : len(encoded)-1]),
		base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		url.QueryEscape(text), url.PathEscape(text),
	}
	// What is quoted twice is in a text that a webhook has got quoted.
	twice := strconv.Quote(quoted[1 : len(quoted)-1])
	all = append(all, twice[1:len(twice)-1])
	slices.Sort(all)
	return slices.Compact(all)
}
