package objectsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// agentsKey is where api-syncagent remembers object web of namespace default in cluster1.
const agentsKey = "d5251a1f794dd6c030f8b61940523cc2ffba7fe5"

// TestStateIsTheAgents holds the name of the Secret and the keys in it that api-syncagent has. They were computed by
// hand: SHA-1 of the JSON with a newline.
func TestStateIsTheAgents(t *testing.T) {
	i := identity("default", "web")
	if got, want := i.StateName("v1"), "obj-state-cluster1-28b53283e9dc1094cb75"; got != want {
		t.Errorf("name: want %q, got %q", want, got)
	}
	s, _ := readState(nil)
	o := subject{NamespacedName: i.NamespacedName, cluster: "cluster1", kind: i.Kind}
	if err := s.put(o, "example.org/v1",
		map[string]any{
			"spec": map[string]any{"html": "a"}, "metadata": map[string]any{"labels": map[string]any{"a": "b"}},
		}); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{
		agentsKey: []byte(`{"apiVersion":"example.org/v1","kind":"Thing",` +
			`"metadata":{"labels":{"a":"b"},"name":"web","namespace":"default"},"spec":{"html":"a"}}`),
	}
	if diff := cmp.Diff(want, s.slots); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestReadStateOfDamage(t *testing.T) {
	for name, data := range map[string]any{
		"NoBase64": map[string]any{"a": "%"}, "NoRecords": map[string]any{keyRecords: "eA=="},
		"NoPending": map[string]any{keyPending: "eA=="},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": data}}); err == nil {
				t.Error("want an error")
			}
		})
	}
	s, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": map[string]any{agentsKey: "eA=="}}})
	if u := s.get(subject{NamespacedName: identity("default", "web").NamespacedName, cluster: "cluster1"}); u != nil ||
		err != nil {
		t.Errorf("a slot that cannot be read is unknown: got %v, %v", u, err)
	}
}
