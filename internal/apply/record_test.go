package apply

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const manager = "provider-kubernetes/it"

// live returns a resource with fields that a manager owns, both given as JSON.
func live(t *testing.T, content, fields string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		{
			Manager: "other", Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:theirs":{}}`),
		},
		{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsV1: metav1.NewFieldsV1(`{"f:updated":{}}`),
		},
		{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`),
		},
		{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
	})
	return u
}

func TestHashOwned(t *testing.T) {
	const containers = `{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}`
	for name, tc := range map[string]struct {
		reason   string
		manifest string
		before   [2]string // content, fields
		after    [2]string
		same     bool
	}{
		"OwnValueChanged": {
			reason: "A field we own with another value is drift.",
			before: [2]string{`{"data":{"a":"1"}}`, `{"f:data":{"f:a":{}}}`},
			after:  [2]string{`{"data":{"a":"2"}}`, `{"f:data":{"f:a":{}}}`},
		},
		"OwnValueGone": {
			reason: "A field we own that is gone is drift.",
			before: [2]string{`{"data":{"a":"1"}}`, `{"f:data":{"f:a":{}}}`},
			after:  [2]string{`{"data":{}}`, `{"f:data":{"f:a":{}}}`},
		},
		"OwnershipLost": {
			reason: "A field that another manager has taken over is drift.",
			before: [2]string{`{"data":{"a":"1","b":"1"}}`, `{"f:data":{"f:a":{},"f:b":{}}}`},
			after:  [2]string{`{"data":{"a":"1","b":"1"}}`, `{"f:data":{"f:a":{}}}`},
		},
		"ForeignValueChanged": {
			reason: "What others own, what we own by update, and our own status is not drift.",
			before: [2]string{`{"data":{"a":"1"},"theirs":"1","updated":"1","status":"1"}`, `{"f:data":{"f:a":{}}}`},
			after: [2]string{
				`{"data":{"a":"1","b":"2"},"theirs":"2","updated":"2","status":"2"}`, `{"f:data":{"f:a":{}}}`,
			},
			same: true,
		},
		"NeighbourInListChanged": {
			reason: "Items of a keyed list that others add, and the order of items, are not drift.",
			before: [2]string{`{"containers":[{"name":"web","image":"v1"}]}`, containers},
			after: [2]string{
				`{"containers":[{"name":"side","image":"v9"},{"name":"web","image":"v1","theirs":true}]}`, containers,
			},
			same: true,
		},
		"OwnItemChanged": {
			reason: "A field of our item of a keyed list is drift.",
			before: [2]string{`{"containers":[{"name":"web","image":"v1"}]}`, containers},
			after:  [2]string{`{"containers":[{"name":"web","image":"v2"}]}`, containers},
		},
		"ItemOfSetRemoved": {
			reason: "An item of ours that is gone from a set is drift.",
			before: [2]string{`{"args":["x","y"]}`, `{"f:args":{"v:\"x\"":{}}}`},
			after:  [2]string{`{"args":["y"]}`, `{"f:args":{"v:\"x\"":{}}}`},
		},
		"AtomicListChanged": {
			reason: "A list we own as a whole is drift if any item changes.",
			before: [2]string{`{"args":["x"]}`, `{"f:args":{}}`},
			after:  [2]string{`{"args":["x","y"]}`, `{"f:args":{}}`},
		},
		"EmptyMapFilled": {
			reason:   "A map we want empty may be filled by others.",
			manifest: `{"data":{}}`,
			before:   [2]string{`{"data":{}}`, `{"f:data":{}}`},
			after:    [2]string{`{"data":{"theirs":"1"}}`, `{"f:data":{}}`},
			same:     true,
		},
		"MapWithOwnAndForeignKeys": {
			reason: "Of a map that we own beside some of its keys, only those keys count.",
			before: [2]string{`{"data":{"a":"1"}}`, `{"f:data":{".":{},"f:a":{}}}`},
			after:  [2]string{`{"data":{"a":"1","b":"2"}}`, `{"f:data":{".":{},"f:a":{}}}`},
			same:   true,
		},
		"IntegersStayExact": {
			reason: "Large integers that differ in the last digit differ.",
			before: [2]string{`{"spec":9007199254740993}`, `{"f:spec":{}}`},
			after:  [2]string{`{"spec":9007199254740994}`, `{"f:spec":{}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &unstructured.Unstructured{Object: map[string]any{}}
			if tc.manifest != "" {
				if err := json.Unmarshal([]byte(tc.manifest), &m.Object); err != nil {
					t.Fatal(err)
				}
			}
			before, err := HashOwned(live(t, tc.before[0], tc.before[1]), m, manager)
			if err != nil {
				t.Fatal(err)
			}
			after, err := HashOwned(live(t, tc.after[0], tc.after[1]), m, manager)
			if err != nil {
				t.Fatal(err)
			}
			if (before == after) != tc.same {
				t.Errorf("%s\nHashOwned: want same %t, got %q and %q", tc.reason, tc.same, before, after)
			}
		})
	}
}

func TestHashOwnedOfNothing(t *testing.T) {
	got, err := HashOwned(live(t, `{"data":{"a":"1"}}`, `{}`), &unstructured.Unstructured{}, manager)
	if err != nil || got != "" {
		t.Errorf("A manager without fields has no hash: got %q, %v", got, err)
	}
	u := live(t, `{}`, `["x"]`)
	if _, err := HashOwned(u, u, manager); err == nil {
		t.Error("Managed fields that cannot be read are an error")
	}
}

func TestHashManifest(t *testing.T) {
	a := Hash(map[string]any{"x": "1", "y": int64(2)})
	if b := Hash(map[string]any{"y": int64(2), "x": "1"}); a != b {
		t.Errorf("The order of keys must not matter: %q, %q", a, b)
	}
	if b := Hash(map[string]any{"x": "1", "y": int64(3)}); a == b {
		t.Error("Another value must have another hash")
	}
}

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
		},
		"Missing": {
			reason: "A field that is gone does.",
			owned:  all,
			change: func(live, _ map[string]any) { delete(live["data"].(map[string]any), "a") },
		},
		"Dropped": {
			reason: "A field of ours that is no longer wanted does.",
			owned:  all,
			change: func(_, m map[string]any) { delete(m["data"].(map[string]any), "b") },
		},
		"NotOurs": {
			reason: "A field that somebody else has taken over does.",
			owned:  `{"f:type":{},"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{}}}`,
			change: func(_, _ map[string]any) {},
		},
		"Label": {
			reason: "A label that is gone does.",
			owned:  all,
			change: func(live, _ map[string]any) { delete(live["metadata"].(map[string]any), "labels") },
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
