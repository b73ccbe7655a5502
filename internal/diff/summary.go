package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

const (
	// summaryBytes is how long a summary may be.
	summaryBytes = 1024
	// patchBytes is how long the paths and values of a limited patch may be together.
	patchBytes = 32 << 10
)

// Summary returns the paths of the fields that operations concern, sorted and separated by commas. Of those that would
// make it longer than a kibibyte it only says how many they are.
func Summary(ops []commonv1.DiffOperation) string {
	fields := make([]string, 0, len(ops))
	for _, op := range ops {
		fields = append(fields, FieldPath(op.Path))
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			f = ", " + f
		}
		if b.Len()+len(f) > summaryBytes {
			return strings.TrimPrefix(fmt.Sprintf("%s and %d more", &b, len(fields)-i), " and ")
		}
		b.WriteString(f)
	}
	return b.String()
}

// FieldPath returns the field path of a JSON pointer, as fieldpath.Parse takes it: metadata.annotations[example.org/x]
// for /metadata/annotations/example.org~1x. A part that looks like an index is shown as one.
func FieldPath(pointer string) string {
	var path fieldpath.Segments
	for _, t := range tokens(pointer) {
		s := fieldpath.Segment{Type: fieldpath.SegmentField, Field: t}
		if n, err := strconv.ParseUint(t, 10, 32); err == nil && strconv.FormatUint(n, 10) == t {
			s = fieldpath.Segment{Type: fieldpath.SegmentIndex, Index: uint(n)}
		}
		path = append(path, s)
	}
	return path.String()
}

// Limit returns operations that fit into a status. Where the values are too long together, the later ones give way to a
// text that tells their length; operations that do not fit even so are left out at the end. A patch that was cut cannot
// be applied any more.
func Limit(ops []commonv1.DiffOperation) []commonv1.DiffOperation {
	var out []commonv1.DiffOperation
	left := patchBytes
	for _, op := range ops {
		if op.Value != nil && len(op.Path)+len(op.Value.Raw) > left {
			op.Value = encode(fmt.Sprintf("(%d bytes left out)", len(op.Value.Raw)))
		}
		size := len(op.Path)
		if op.Value != nil {
			size += len(op.Value.Raw)
		}
		if size > left {
			return out
		}
		left -= size
		out = append(out, op)
	}
	return out
}
