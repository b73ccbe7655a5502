package objectsync_test

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// withoutSlots makes the state one of a build that did not record the slots.
func (m *manyRelated) withoutSlots() {
	m.Helper()
	for n, u := range m.below.all[objectsync.Secrets] {
		if n.Namespace != "states" {
			continue
		}
		encoded, _, _ := unstructured.NestedString(u.Object, "data", "related")
		b, err := base64.StdEncoding.DecodeString(encoded)
		var records []map[string]any
		if err == nil {
			err = json.Unmarshal(b, &records)
		}
		if err != nil || len(records) == 0 || records[0]["slot"] == nil {
			m.Fatalf("want records with slots, got %s, %v", b, err)
		}
		for _, r := range records {
			delete(r, "slot")
		}
		if b, err = json.Marshal(records); err == nil {
			err = unstructured.SetNestedField(u.Object, base64.StdEncoding.EncodeToString(b), "data", "related")
		}
		if err != nil {
			m.Fatal(err)
		}
	}
}

// TestRefusedByEarlierBuild shows that what an operator has made in the place of a copy stays, though it was an earlier
// build that has copied the Secret, and the consumer deletes that and makes it again.
func TestRefusedByEarlierBuild(t *testing.T) {
	m := newManyRelated(t, v1alpha1.OriginKCP)
	m.name(1)
	m.fill(1, "b25l")
	m.pass(1)
	m.withoutSlots()
	operators := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "dHdv"},
	}}
	operators.SetNamespace("c1")
	operators.SetName("s0")
	operators.SetUID("the operator's")
	m.below.put(objectsync.Secrets, operators)
	for step, there := range []bool{true, false, true, true} {
		if there {
			m.fill(1, strconv.Itoa(step))
		} else {
			m.above.drop(objectsync.Secrets, types.NamespacedName{Namespace: m.namespace, Name: "s0"})
		}
		if _, err := m.syncer.Sync(t.Context(), m.input); errors.Is(err, objectsync.ErrForeign) != there {
			t.Errorf("step %d: want it refused: %t, got %v", step, there, err)
		}
		if is := m.below.get(objectsync.Secrets, nameIn(operators)); is == nil || is.GetUID() != operators.GetUID() ||
			len(is.GetAnnotations()) > 0 || is.Object["data"].(map[string]any)["k"] != "dHdv" {
			t.Fatalf("step %d: want the operator's as it was, got %v", step, is)
		}
	}
}
