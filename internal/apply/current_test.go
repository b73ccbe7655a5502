package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCurrent(t *testing.T) {
	manifest := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": map[string]any{"name": "s", "namespace": "n", "labels": map[string]any{"ours": "true"}},
			"data":     map[string]any{"a": "MQ==", "b": "Mg=="},
		}}
	}
	const all = `{"f:type":{},"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{},"f:b":{}}}`
	for name, tc := range map[string]struct {
		reason string
		owned  string
		change func(live, manifest map[string]any)
		want   bool
	}{
		"Same": {
			reason: "What has all fields and no others is current.",
			owned:  all,
			change: func(_, _ map[string]any) {},
			want:   true,
		},
		"OthersFields": {
			reason: "Fields that others have added make no difference.",
			owned:  all,
			change: func(live, _ map[string]any) { live["data"].(map[string]any)["c"] = "Mw==" },
			want:   true,
		},
		"OtherValue": {
			reason: "Another value does.",
			owned:  all,
			change: func(live, _ map[string]any) { live["data"].(map[string]any)["a"] = "Mw==" },
			want:   false,
		},
		"Missing": {
			reason: "A field that is gone does.",
			owned:  all,
			change: func(live, _ map[string]any) { delete(live["data"].(map[string]any), "a") },
			want:   false,
		},
		"Dropped": {
			reason: "A field of ours that is no longer wanted does.",
			owned:  all,
			change: func(_, m map[string]any) { delete(m["data"].(map[string]any), "b") },
			want:   false,
		},
		"NotOurs": {
			reason: "A field that somebody else has taken over does.",
			owned:  `{"f:type":{},"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{}}}`,
			change: func(_, _ map[string]any) {},
			want:   false,
		},
		"Label": {
			reason: "A label that is gone does.",
			owned:  all,
			change: func(live, _ map[string]any) { delete(live["metadata"].(map[string]any), "labels") },
			want:   false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, m := manifest(), manifest()
			tc.change(live.Object, m.Object)
			e := metav1.ManagedFieldsEntry{
				Manager: "me", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{},
			}
			e.FieldsV1.SetRawBytes([]byte(tc.owned))
			live.SetManagedFields([]metav1.ManagedFieldsEntry{e})
			got, err := Current(live, m, "me")
			if err != nil || got != tc.want {
				t.Errorf("%s\nwant %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
