package objectsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ofCrossplane are the platform's fields in most cases.
var ofCrossplane = newPlatformFields([]string{
	"spec.crossplane", "spec.ref", "spec.some.deep", "status.secret", "status.crossplane.at",
})

func TestWithoutPlatformFields(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		is, want object
	}{
		"All": {
			reason: "What is the platform's goes, at any depth, and the consumer's stays.",
			is: object{
				"spec": object{
					"size": "L", "crossplane": object{"x": "y"}, "ref": "z",
					"some": object{"deep": int64(1), "field": int64(2)},
				},
				"crossplane": "no field of the spec",
				"status": object{
					"phase": "x", "secret": object{"at": "now"}, "crossplane": object{"at": "now", "by": "x"},
				},
			},
			want: object{
				"spec": object{"size": "L", "some": object{"field": int64(2)}}, "crossplane": "no field of the spec",
				"status": object{"phase": "x", "crossplane": object{"by": "x"}},
			},
		},
		"Only": {
			reason: "A spec of such fields alone is empty, and not gone.",
			is:     object{"spec": object{"ref": nil}}, want: object{"spec": object{}},
		},
		"NoSpec": {reason: "There may be no spec.", is: object{"data": "x"}, want: object{"data": "x"}},
		"TextSpec": {
			reason: "It may be no object.", is: object{"spec": "x", "status": "y"},
			want: object{"spec": "x", "status": "y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.DeepCopyJSON(tc.is)
			got := ofCrossplane.without(specField, &unstructured.Unstructured{Object: tc.is})
			if diff := cmp.Diff(tc.want, ofCrossplane.without(statusField, got).Object); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.is); diff != "" {
				t.Errorf("the object is shared and must not be changed: -before, +after:\n%s", diff)
			}
		})
	}
}

// TestChangeOfPlatformFields shows which changes of a copy follow from what was last copied and what is to be.
func TestChangeOfPlatformFields(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		last, desired object
		want          object
	}{
		"SetAnew": {
			reason:  "What it sets goes with all that is in the field it sets, and no field beside it.",
			last:    object{"spec": object{"crossplane": object{"labels": object{"a": "b"}, "refs": "x"}}},
			desired: object{"spec": object{"crossplane": object{"labels": object{"c": "d"}}}},
			want:    object{"spec": object{"crossplane": object{"labels": object{"a": nil, "c": "d"}}}},
		},
		"SameBelow": {
			reason:  "Other fields of the consumer go as ever.",
			last:    object{"spec": object{"size": "L", "note": "n", "crossplane": object{"ref": "y"}}},
			desired: object{"spec": object{"size": "XL"}}, want: object{"spec": object{"size": "XL", "note": nil}},
		},
		"ObjectGone": {
			reason:  "An object that has such a field beside others stays, as the copy may have the field.",
			last:    object{"spec": object{"size": "L", "some": object{"field": "x", "deep": "y"}}},
			desired: object{"spec": object{"size": "L"}}, want: object{"spec": object{"some": object{"field": nil}}},
		},
		"SpecGone": {
			reason: "So does the spec.", last: object{"spec": object{"size": "L"}}, desired: object{},
			want: object{"spec": object{"size": nil}},
		},
		"NothingCopied": {
			reason: "Nothing may have been copied.", desired: object{"spec": object{"size": "XL"}},
			want: object{"spec": object{"size": "XL"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := []object{runtime.DeepCopyJSON(tc.last), runtime.DeepCopyJSON(tc.desired)}
			got := ofCrossplane.change(tc.last, tc.desired)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, []object{tc.last, tc.desired}); diff != "" {
				t.Errorf("neither is to be changed: -before, +after:\n%s", diff)
			}
		})
	}
}
