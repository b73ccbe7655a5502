package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

// textMost is how long a text may be that a format makes, in bytes. An API server takes no longer one, and formats that
// double a text would soon ask for all memory.
const textMost = 1 << 20

// textsMost is how long the texts may be together that the transforms of all references of an Object take and make, in
// bytes.
const textsMost = 32 << 20

// transformed changes a value, as Compositions do, and adds to a number how long the texts are that this takes and
// makes. Values are as in JSON; whole numbers are int64. Errors do not tell the value, which may be secret.
func transformed(value any, transforms []commonv1.Transform, texts *int) (any, error) {
	for i, t := range transforms {
		v, err := transform(value, t)
		if *texts += lengthOf(value) + lengthOf(v); err == nil && *texts > textsMost {
			err = errors.Errorf("the transforms of all references create strings of more than %d bytes in total", textsMost)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "transforms[%d]", i)
		}
		value = v
	}
	return value, nil
}

// lengthOf returns how long a value is if it is a text.
func lengthOf(value any) int {
	s, _ := value.(string)
	return len(s)
}

func transform(value any, t commonv1.Transform) (any, error) {
	switch {
	case t.Type == commonv1.TransformString && t.String != nil:
		return format(value, t.String.Format)
	case t.Type == commonv1.TransformMap:
		return mapped(value, t)
	case t.Type == commonv1.TransformConvert && t.Convert != nil:
		return convert(value, t.Convert.ToType)
	}
	return nil, errors.Errorf("type %q is unknown, or the field of that name is not set", t.Type)
}

func format(value any, layout string) (any, error) {
	if strings.Count(strings.ReplaceAll(layout, "%%", ""), "%") > 1 {
		return nil, errors.Errorf("format %q has more than one placeholder", layout)
	}
	switch value.(type) {
	case map[string]any, []any:
		value = asString(value)
	}
	// What a verb cannot format is written into the text, between these marks, by package fmt.
	s := fmt.Sprintf(layout, value)
	if len(s) > textMost {
		return nil, errors.Errorf("format %q creates a string of more than %d bytes", layout, textMost)
	}
	if strings.Count(s, "%!") > strings.Count(fmt.Sprint(value), "%!") {
		return nil, errors.Errorf("format %q does not fit a value of type %s", layout, typeOf(value))
	}
	return s, nil
}

func mapped(value any, t commonv1.Transform) (any, error) {
	key, ok := value.(string)
	if !ok {
		return nil, errors.Errorf("a map transform needs a string, but the value has type %s", typeOf(value))
	}
	raw, ok := t.Map[key]
	if !ok {
		return nil, errors.New("the map has no key that equals the value")
	}
	var v any
	if err := utiljson.Unmarshal(raw.Raw, &v); err != nil {
		return nil, errors.New("the value in the map is not JSON")
	}
	return v, nil
}

func convert(value any, to string) (any, error) {
	var v any
	ok := false
	switch to {
	case "string":
		v, ok = asString(value), true
	case "int", "int64":
		v, ok = asInt(asNumber(value))
	case "float64":
		f, err := strconv.ParseFloat(fmt.Sprint(asNumber(value)), 64)
		v, ok = f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	case "bool":
		b, err := strconv.ParseBool(fmt.Sprint(value))
		v, ok = b, err == nil
	case "object":
		v, ok = parsed[map[string]any](value)
	case "array":
		v, ok = parsed[[]any](value)
	}
	if !ok {
		return nil, errors.Errorf("a value of type %s cannot be converted to %s", typeOf(value), to)
	}
	return v, nil
}

// asString returns a string as it is, and anything else as JSON.
func asString(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b, _ := json.Marshal(value) //nolint:errchkjson // It comes from JSON.
	return string(b)
}

// asNumber makes true 1 and false 0.
func asNumber(value any) any {
	switch value {
	case true:
		return int64(1)
	case false:
		return int64(0)
	}
	return value
}

func asInt(value any) (int64, bool) {
	if f, ok := value.(float64); ok {
		return int64(f), math.Abs(f) < math.MaxInt64
	}
	i, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	return i, err == nil
}

// parsed returns a value of a type, parsed from JSON if it is a string.
func parsed[T any](value any) (any, bool) {
	if s, ok := value.(string); ok {
		value = nil
		if utiljson.Unmarshal([]byte(s), &value) != nil {
			return nil, false
		}
	}
	v, ok := value.(T)
	return v, ok
}

// typeOf names the type of a value.
func typeOf(value any) string { return reflect.ValueOf(value).Kind().String() }

// indexMost is the highest index of a list element that may be written, and the highest sum of those of one path, so
// that it cannot ask for all memory.
const indexMost = 1024

// wildcard is an element of a path that stands for all elements of a list.
const wildcard = "*"

// checkPath says what is wrong with a field path. An empty one is fine.
func checkPath(path string) error {
	if path == "" {
		return nil
	}
	if strings.HasPrefix(path, "{") || strings.HasPrefix(path, ".") || strings.HasPrefix(path, "$") {
		return errors.Errorf("%s is JSONPath: write %s", path, strings.TrimLeft(strings.TrimSuffix(path, "}"), "{$."))
	}
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return errors.Wrap(err, "cannot parse")
	}
	if len(segments) > 0 && segments[0].Type == fieldpath.SegmentIndex {
		return errors.New("the path begins with an index, but a resource is not a list")
	}
	var sum uint
	for _, s := range segments {
		switch {
		case s.Type == fieldpath.SegmentIndex && s.Index > indexMost-sum:
			return errors.Errorf("the sum of its indexes is greater than %d", indexMost)
		case s.Type == fieldpath.SegmentIndex:
			sum += s.Index
		case s.Type == fieldpath.SegmentField && s.Field == wildcard:
			return errors.New("wildcards are not supported")
		}
	}
	return nil
}

// read returns the value of a field, and whether there is one: null is none.
func read(content map[string]any, path string) (any, bool, error) {
	v, err := fieldpath.Pave(content).GetValue(path)
	if fieldpath.IsNotFound(err) {
		return nil, false, nil
	}
	return v, err == nil && v != nil, errors.Wrap(err, "cannot read field")
}

// holdsSecret reports whether there is a Secret in a value.
func holdsSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return diff.IsSecret(v) || slices.ContainsFunc(slices.Collect(maps.Values(v)), holdsSecret)
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	}
	return false
}

// readsHidden reports whether a reference reads the values of the Secret that an Object keeps, where the status shows
// none.
func (r *Reference) readsHidden(content map[string]any) bool {
	const shown = "status.atProvider.manifest"
	secret, _, _ := read(content, shown)
	m, _ := secret.(map[string]any)
	return diff.IsSecret(m) && (r.From == shown || covers(shown+".data", r.From) || covers(shown+".stringData", r.From))
}

// write sets a field, and makes the maps and lists it lies in where they are missing or null. The value is copied.
func write(content map[string]any, path string, value any) error {
	segments, _ := fieldpath.Parse(path) // It has been checked.
	p := fieldpath.Pave(content)
	for i := 1; i < len(segments); i++ {
		above := segments[:i].String()
		if v, err := p.GetValue(above); err == nil && v == nil && segments[i-1].Type == fieldpath.SegmentField {
			_ = p.DeleteField(above) // It is there, as it is null.
		}
	}
	return errors.Wrap(p.SetValue(path, value), "cannot write field")
}

// covers reports whether writing one field writes another: that field itself or one it is in.
func covers(path, field string) bool {
	outer, err := fieldpath.Parse(path)
	if err != nil {
		return false
	}
	inner, err := fieldpath.Parse(field)
	return err == nil && len(outer) <= len(inner) && slices.Equal(outer, inner[:len(outer)])
}
