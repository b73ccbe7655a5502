package object

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretData is the field of a Secret whose values are encoded.
const secretData = "data"

// detailValue returns the value of a field, never nil without an error, which names fields and never quotes values. A
// text is taken as it is, a number or a boolean as JSON writes it, a list or a map as JSON. We rejected the syntax of
// Go, which provider-kubernetes gives lists and maps, because nothing but Go can read it. Values of a Secret are
// decoded.
func detailValue(u *unstructured.Unstructured, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("fieldPath is not set")
	}
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, errors.Errorf("fieldPath %q cannot be parsed", path)
	}
	v, err := fieldpath.Pave(u.Object).GetValue(path)
	if err != nil || v == nil {
		return nil, errors.Errorf("there is no field %s", path)
	}
	if u.GetAPIVersion() == "v1" && u.GetKind() == "Secret" && segments[0].Field == secretData {
		return decoded(v, path)
	}
	return encoded(v)
}

// decoded returns a value of a Secret's data, or all of them as a JSON object. JSON has no place for a value that is no
// text: it is refused rather than changed, and can be taken by itself.
func decoded(v any, path string) ([]byte, error) {
	switch v := v.(type) {
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, errors.Errorf("field %s is not base64", path)
		}
		return b, nil
	case map[string]any:
		return decodedMap(v, path)
	}
	return nil, errors.Errorf("field %s is not base64", path)
}

func decodedMap(values map[string]any, path string) ([]byte, error) {
	texts := make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s, _ := values[key].(string)
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil || !utf8.Valid(b) {
			return nil, errors.Errorf("key %q of field %s is not a text, and JSON cannot hold it", key, path)
		}
		texts[key] = string(b)
	}
	return encoded(texts)
}

// encoded returns a text as it is, and anything else as JSON.
func encoded(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, errors.New("the value cannot be written as JSON")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
