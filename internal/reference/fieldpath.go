package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"

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
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return errors.Wrap(err, "cannot parse")
	}
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
