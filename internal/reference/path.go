package reference

import (
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

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
		return errors.New("a resource is no list")
	}
	var sum uint
	for _, s := range segments {
		switch {
		case s.Type == fieldpath.SegmentIndex && s.Index > indexMost-sum:
			return errors.Errorf("indexes are greater than %d", indexMost)
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

// inSecret reports whether a field lies in a Secret: in a resource that is one, or in one that an Object shows or
// wants.
func inSecret(content map[string]any, path string) bool {
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return true
	}
	var at any = content
	for _, s := range segments {
		fields, ok := at.(map[string]any)
		if ok && diff.IsSecret(fields) {
			return true
		}
		list, _ := at.([]any)
		switch {
		case s.Type == fieldpath.SegmentField:
			at = fields[s.Field]
		case s.Index < uint(len(list)):
			at = list[s.Index]
		default:
			return false
		}
	}
	return holdsSecret(at)
}

// holdsSecret reports whether there is a Secret in a value.
func holdsSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if diff.IsSecret(v) {
			return true
		}
		for _, item := range v {
			if holdsSecret(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	}
	return false
}

// write sets a field, and makes the maps and lists it lies in where they are missing. The value is copied. Unlike that
// of package fieldpath it leaves whole numbers as they are.
func write(content map[string]any, path string, value any) error {
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return errors.Wrap(err, "cannot parse")
	}
	_, err = put(content, segments, runtime.DeepCopyJSONValue(value))
	return err
}

// put returns what a field is in, with the field set.
func put(at any, rest fieldpath.Segments, value any) (any, error) {
	if len(rest) == 0 {
		return value, nil
	}
	if rest[0].Type == fieldpath.SegmentIndex {
		return putElement(at, rest, value)
	}
	fields, ok := at.(map[string]any)
	if !ok && at != nil {
		return nil, errors.Errorf("field %s is not in an object", rest[0].Field)
	}
	if fields == nil {
		fields = map[string]any{}
	}
	v, err := put(fields[rest[0].Field], rest[1:], value)
	if err != nil {
		return nil, err
	}
	fields[rest[0].Field] = v
	return fields, nil
}

func putElement(at any, rest fieldpath.Segments, value any) (any, error) {
	list, ok := at.([]any)
	if !ok && at != nil {
		return nil, errors.Errorf("element %d is not in a list", rest[0].Index)
	}
	for uint(len(list)) <= rest[0].Index {
		list = append(list, nil)
	}
	v, err := put(list[rest[0].Index], rest[1:], value)
	if err != nil {
		return nil, err
	}
	list[rest[0].Index] = v
	return list, nil
}

// covers reports whether writing one field writes another: that field itself or one it is in.
func covers(path, field string) bool {
	outer, err := fieldpath.Parse(path)
	if err != nil {
		return false
	}
	inner, err := fieldpath.Parse(field)
	if err != nil || len(outer) > len(inner) {
		return false
	}
	for i := range outer {
		if outer[i] != inner[i] {
			return false
		}
	}
	return true
}
