package informer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPacked(t *testing.T) {
	fields := []any{map[string]any{
		"manager": "a<b>&c", "fieldsV1": map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}},
	}}
	resource := func(metadata any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "A", "metadata": metadata}}
	}
	for name, tc := range map[string]struct {
		reason  string
		u, want *unstructured.Unstructured
	}{
		"Fields": {
			reason: "What is read is what the server shows.",
			u:      resource(map[string]any{"name": "a", "managedFields": fields}),
			want:   resource(map[string]any{"name": "a", "managedFields": fields}),
		},
		"None": {
			reason: "Nothing is added.",
			u:      resource(map[string]any{"name": "a"}), want: resource(map[string]any{"name": "a"}),
		},
		"NoMetadata": {reason: "A server may lie.", u: resource("text"), want: resource("text")},
		"Text": {
			reason: "What a server calls managed fields is not taken for what we hold of some.",
			u:      resource(map[string]any{"managedFields": "[1]"}), want: resource(map[string]any{"managedFields": nil}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.u.DeepCopy()
			held := packed(tc.u)
			if shown, _, _ := unstructured.NestedSlice(held.Object, "metadata", "managedFields"); shown != nil {
				t.Errorf("%s: held as a list: %v", tc.reason, shown)
			}
			heldBefore := held.DeepCopy()
			if diff := cmp.Diff(tc.want, unpacked(held)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.u) + cmp.Diff(heldBefore, held); diff != "" {
				t.Errorf("%s: what was given has changed:\n%s", tc.reason, diff)
			}
		})
	}
	if got := unpacked(nil); got != nil {
		t.Errorf("nothing becomes %v", got)
	}
}
