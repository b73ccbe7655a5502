package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Of returns the operations that make wanted of live, two states of a resource as Essence returns them, with values of
// Secrets masked. It is nil if there is no difference. If live is nil it is one operation, which adds the whole
// resource.
func Of(live, wanted map[string]any) ([]commonv1.DiffOperation, error) {
	if live == nil {
		return []commonv1.DiffOperation{{Op: "add", Path: "", Value: encode(mask(wanted, nil, MaskedAfter))}}, nil
	}
	before, after := encode(mask(live, wanted, Masked)), encode(mask(wanted, live, MaskedAfter))
	patch, err := jsonpatch.CreatePatch(before.Raw, after.Raw)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare resources")
	}
	slices.SortStableFunc(patch, func(a, b jsonpatch.Operation) int { return slices.Compare(rank(a), rank(b)) })
	var ops []commonv1.DiffOperation
	for _, p := range patch {
		op := commonv1.DiffOperation{Op: p.Operation, Path: p.Path}
		if p.Operation != "remove" {
			op.Value = encode(p.Value)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// listMost is more than the items any list has.
const listMost = 99_999_999

// rank returns the place of an operation among others: by the path, in which numbers count as such. Items that are
// removed from a list go from the last to the first, so that none changes the index of another.
func rank(op jsonpatch.Operation) []string {
	place := tokens(op.Path)
	for i, t := range place {
		n, err := strconv.Atoi(t)
		if err != nil || n > listMost {
			continue
		}
		if op.Operation == "remove" && i == len(place)-1 {
			n = listMost - n
		}
		place[i] = fmt.Sprintf("%08d", n)
	}
	return append(place, op.Path)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// tokens returns the parts of a JSON pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		parts[i] = unescape.Replace(p)
	}
	return parts
}

func encode(v any) *apiextensionsv1.JSON {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return &apiextensionsv1.JSON{Raw: b}
}

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

// Masks stand for values of Secrets, as they do in kubectl diff.
const (
	// Masked stands for a value that is new, or does not change.
	Masked = "***"
	// MaskedAfter stands for a value that takes the place of another one.
	MaskedAfter = "*** (after)"
)

// mask returns a copy of a value in which all values of Secrets are hidden. other is the value at the same place in the
// other of two states, nil if there is none, and changed stands for a value that differs there. What either state says
// is a Secret is one.
func mask(v, other any, changed string) any {
	switch v := v.(type) {
	case []any:
		o, _ := other.([]any)
		list := make([]any, len(v))
		for i, item := range v {
			var at any
			if i < len(o) {
				at = o[i]
			}
			list[i] = mask(item, at, changed)
		}
		return list
	case map[string]any:
		o, _ := other.(map[string]any)
		secret := IsSecret(v) || IsSecret(o)
		out := make(map[string]any, len(v))
		for k, item := range v {
			switch {
			case k == corev1.LastAppliedConfigAnnotation:
				out[k] = hide(item, o[k], changed)
			case secret && (k == "data" || k == "stringData"):
				out[k] = hideEach(item, o[k], changed)
			default:
				out[k] = mask(item, o[k], changed)
			}
		}
		return out
	}
	return v
}

// hideEach hides the values of a map, or all of what is none.
func hideEach(v, other any, changed string) any {
	values, isMap := v.(map[string]any)
	if !isMap {
		return hide(v, other, changed)
	}
	o, _ := other.(map[string]any)
	out := make(map[string]any, len(values))
	for k, item := range values {
		out[k] = hide(item, o[k], changed)
	}
	return out
}

func hide(v, other any, changed string) any {
	if other == nil || equality.Semantic.DeepEqual(v, other) {
		return Masked
	}
	return changed
}

// IsSecret reports whether the content of a resource is that of a Secret.
func IsSecret(m map[string]any) bool { return m["apiVersion"] == "v1" && m["kind"] == "Secret" }

// serverFields are the fields of metadata that only a server sets.
var serverFields = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Essence returns what an apply of a manifest can change of a resource: all but its status, if the manifest has none,
// the metadata that the server alone decides and our label. It shares nothing with the resource. It is nil if the
// resource is.
func Essence(u, manifest *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	content, _ := prune(u.Object).(map[string]any)
	if manifest.Object["status"] == nil {
		delete(content, "status")
	}
	m, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	for _, f := range serverFields {
		delete(m, f)
	}
	if labels, ok := m["labels"].(map[string]any); ok {
		delete(labels, commonv1.LabelKeyManaged)
		if len(labels) == 0 {
			delete(m, "labels")
		}
	}
	return content
}

// prune returns a copy of a JSON value without the fields that are null.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			if item != nil {
				out[k] = prune(item)
			}
		}
		return out
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = prune(item)
		}
		return list
	}
	return v
}
