package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

// A Resolution is what the references of an Object lead to, as far as they could be followed. Its zero value is that of
// an Object without references.
type Resolution struct {
	values []value
	size   int                        // of all values, in bytes
	found  []*found                   // the resources to pin
	loose  []commonv1.PinnedReference // what is pinned and must not be
	unsure []*Reference               // what is pinned of these stays pinned
}

// sizeMost is how large the values of all references of an Object may be together, in bytes. No API server takes a
// larger manifest.
const sizeMost = 3 << 20

// A value is what a reference writes into a manifest.
type value struct {
	to      string // the field of the manifest
	written any    // shared
	secret  bool   // it comes from a Secret
	ref     *Reference
}

// SecretFields returns the fields of the manifest that Apply writes and that hold values of Secrets. Fields that name
// the resource are left out: events and conditions show them anyhow.
func (r *Resolution) SecretFields() []string {
	if r == nil {
		return nil
	}
	var fields []string
	for _, v := range r.values {
		if v.secret && !slices.Contains(identity(), v.to) {
			fields = append(fields, v.to)
		}
	}
	return fields
}

// identity are the fields by which a manifest names a resource, and which therefore must not fall back to a default.
func identity() []string {
	return []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}
}

// Apply writes the values read through the references into the content of a manifest.
func (r *Resolution) Apply(content map[string]any) error {
	if r == nil {
		return nil
	}
	for _, v := range r.values {
		if err := write(content, v.to, v.written); err != nil {
			return invalid("%s: cannot write %s of the manifest: %v", v.ref.At, v.to, err)
		}
		if err := v.check(content); err != nil {
			return err
		}
	}
	return nil
}

// check sees to it that a manifest whose name comes from elsewhere has one.
func (v value) check(content map[string]any) error {
	for _, field := range identity() {
		if !covers(v.to, field) {
			continue
		}
		name, ok, err := read(content, field)
		if err != nil || !ok && v.to != field {
			continue // A whole metadata need not have a namespace.
		}
		if s, isText := name.(string); !isText || s == "" {
			return waiting("%s to give a text for %s that is not empty in its field %s", v.ref, field, v.ref.From)
		}
	}
	return nil
}

// Names reports whether references decide what resource an Object is about.
func Names(spec *commonv1.ObjectSpec) bool {
	return slices.ContainsFunc(Normalise(spec, Rules{}), func(r Reference) bool {
		return r.To != "" && slices.ContainsFunc(identity(), func(field string) bool { return covers(r.To, field) })
	})
}

// keeps reports whether a pin is still wanted.
func (r *Resolution) keeps(p commonv1.PinnedReference) bool {
	return slices.ContainsFunc(r.found, func(x *found) bool { return x.pin == p }) ||
		slices.ContainsFunc(r.unsure, func(ref *Reference) bool { return ref.isOf(p) })
}

// take adds a value to a resolution.
func (r *Resolution) take(v value) error {
	r.size += sizeOf(v.written)
	if r.size > sizeMost {
		return invalid("%s: the values of all references are larger than %d bytes", v.ref.At, sizeMost)
	}
	r.values = append(r.values, v)
	return nil
}

// sizeOf returns how much of a manifest a value takes.
func sizeOf(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return sizeMost + 1 // It does not fit into a manifest, either.
	}
	return len(b)
}

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
