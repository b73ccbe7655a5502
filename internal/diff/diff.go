package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Of returns the operations that make wanted of live, two states of a resource: sorted by path, and with values of
// Secrets masked. A field that is null counts as one that is not there, as for API servers. Lists of different lengths
// differ as a whole. It is nil if there is no difference. If live is nil it is one operation, which adds the whole
// resource. Secret are the fields, as data.key, that hold values of Secrets although the resource is none.
func Of(live, wanted map[string]any, secret ...string) []commonv1.DiffOperation {
	c := comparison{}
	for _, field := range secret {
		c = append(c, pointerTo(field))
	}
	if live == nil {
		return []commonv1.DiffOperation{{Op: "add", Path: "", Value: encode(c.mask("", wanted, c.has("")))}}
	}
	return c.compare("", live, wanted, c.has(""))
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// A comparison are the JSON pointers of what is masked, beside what is seen to be of a Secret.
type comparison []string

func (c comparison) has(path string) bool { return slices.Contains(c, path) }

// pointerTo returns the JSON pointer of a field. It ends before the first index, as a server may order a list anew, and
// is that of the whole resource if the field cannot be parsed.
func pointerTo(field string) (pointer string) {
	path, err := fieldpath.Parse(field)
	for _, s := range path {
		if err != nil || s.Type == fieldpath.SegmentIndex {
			break
		}
		pointer += "/" + escape.Replace(s.Field)
	}
	return pointer
}

// compare returns the operations that make wanted of live, the values at a path, nil where there is none. A hidden
// value is masked.
func (c comparison) compare(path string, live, wanted any, hidden bool) (ops []commonv1.DiffOperation) {
	before, isMap := live.(map[string]any)
	after, staysMap := wanted.(map[string]any)
	items, isList := live.([]any)
	wantedItems, staysList := wanted.([]any)
	op := commonv1.DiffOperation{Op: "replace", Path: path}
	switch {
	case equality.Semantic.DeepEqual(live, wanted):
		return nil
	case isMap && staysMap:
		all := maps.Clone(before)
		maps.Copy(all, after)
		for _, k := range slices.Sorted(maps.Keys(all)) {
			at := path + "/" + escape.Replace(k)
			below := hidden || hides(before, k) || hides(after, k) || c.has(at)
			ops = append(ops, c.compare(at, before[k], after[k], below)...)
		}
		return ops
	case isList && staysList && len(items) == len(wantedItems):
		for i := range items {
			ops = append(ops, c.compare(path+"/"+strconv.Itoa(i), items[i], wantedItems[i], hidden)...)
		}
		return ops
	case wanted == nil:
		op.Op = "remove"
		return []commonv1.DiffOperation{op}
	case live == nil:
		op.Op = "add"
	}
	op.Value = encode(c.mask(path, wanted, hidden))
	return []commonv1.DiffOperation{op}
}

func encode(v any) *apiextensionsv1.JSON {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return &apiextensionsv1.JSON{Raw: b}
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// Summary returns the paths of the fields that operations concern, separated by commas, as fieldpath.Parse takes them:
// metadata.annotations[example.org/x], for example. A key that looks like an index is shown as one.
func Summary(ops []commonv1.DiffOperation) string {
	fields := make([]string, 0, len(ops))
	for _, op := range ops {
		var path fieldpath.Segments
		for part := range strings.SplitSeq(strings.TrimPrefix(op.Path, "/"), "/") {
			path = append(path, fieldpath.FieldOrIndex(unescape.Replace(part)))
		}
		fields = append(fields, path.String())
	}
	return strings.Join(fields, ", ")
}

// patchBytes is how long the paths and values of a limited patch may be together.
const patchBytes = 32 << 10

// Limit returns the first of some operations, as many as fit into a status.
func Limit(ops []commonv1.DiffOperation) []commonv1.DiffOperation {
	size := 0
	for i, op := range ops {
		if size += len(op.Path); op.Value != nil {
			size += len(op.Value.Raw)
		}
		if size > patchBytes {
			return ops[:i]
		}
	}
	return ops
}

// Masked stands for a value of a Secret.
const Masked = "***"

// hides reports whether the value of a key is one of a Secret, or holds such values.
func hides(m map[string]any, key string) bool {
	return key == corev1.LastAppliedConfigAnnotation || IsSecret(m) && (key == "data" || key == "stringData")
}

// mask returns a copy of the value at a path in which all values of Secrets are masked. A hidden value is itself one,
// or a map of them.
func (c comparison) mask(path string, v any, hidden bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			at := path + "/" + escape.Replace(k)
			out[k] = c.mask(at, item, hidden || hides(v, k) || c.has(at))
		}
		return out
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = c.mask(path+"/"+strconv.Itoa(i), item, hidden)
		}
		return list
	}
	if hidden {
		return Masked
	}
	return v
}

// IsSecret reports whether the content of a resource is that of a Secret.
func IsSecret(m map[string]any) bool { return m["apiVersion"] == "v1" && m["kind"] == "Secret" }
