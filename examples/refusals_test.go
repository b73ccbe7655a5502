package examples

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusal is a row of the messages by which the API server refuses an Object.
var refusal = regexp.MustCompile("(?m)^\\| `(.+?)` \\| ")

// mistakes are fields of an Object, by how the message begins by which they are refused.
var mistakes = map[string]struct {
	value any
	field []string
}{
	"a field path must not be JSONPath": {
		value: []any{map[string]any{"patchesFrom": map[string]any{"name": "x", "fieldPath": "{.data.x}"}}},
		field: []string{"spec", "references"},
	},
	"celQuery is not valid CEL": {
		value: map[string]any{"policy": "DeriveFromCelQuery", "celQuery": "object.a = 1"},
		field: []string{"spec", "readiness"},
	},
	"celQuery must be set": {
		value: map[string]any{"policy": "DeriveFromCelQuery"},
		field: []string{"spec", "readiness"},
	},
	"managementPolicies must be": {
		value: []any{"Create", "Delete"},
		field: []string{"spec", "managementPolicies"},
	},
	"Unsupported value": {
		value: map[string]any{"kind": "providerconfig", "name": "remote"},
		field: []string{"spec", "providerConfigRef"},
	},
	"fromObject cannot be set": {
		value: []any{map[string]any{
			"fromObject": map[string]any{"name": "x"}, "dependsOn": map[string]any{"name": "x"},
		}},
		field: []string{"spec", "references"},
	},
	"map must be set": {
		value: []any{map[string]any{"patchesFrom": map[string]any{
			"name": "x", "fieldPath": "data.x", "transforms": []any{map[string]any{"type": "map"}},
		}}},
		field: []string{"spec", "references"},
	},
	"exactly one of name and selector": {
		value: []any{map[string]any{"patchesFrom": map[string]any{"fieldPath": "data.x"}}},
		field: []string{"spec", "references"},
	},
}

// TestRefusals shows that the API server refuses mistakes with the messages that the guide lists.
func TestRefusals(t *testing.T) {
	c := prepared(t)
	_, table := section(t, "../docs/how-to/troubleshoot.md", "## Rejected Object")
	rows := refusal.FindAllStringSubmatch(table, -1)
	if len(rows) != len(mistakes) {
		t.Errorf("messages in the guide: want %d, got %d", len(mistakes), len(rows))
	}
	for _, m := range rows {
		t.Run(m[1], func(t *testing.T) {
			for begin, mistake := range mistakes {
				if !strings.HasPrefix(m[1], begin) {
					continue
				}
				u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forProvider": map[string]any{
					"manifest": map[string]any{"apiVersion": "v1", "kind": "Namespace"},
				}}}}
				u.SetAPIVersion("kubernetes.m.crossplane.io/v1alpha1")
				u.SetKind("Object")
				u.SetNamespace(metav1.NamespaceDefault)
				u.SetName("refused")
				if err := unstructured.SetNestedField(u.Object, mistake.value, mistake.field...); err != nil {
					t.Fatal(err)
				}
				if err := c.Create(t.Context(), u, client.DryRunAll); err == nil || !strings.Contains(err.Error(), m[1]) {
					t.Errorf("want this message, got: %v", err)
				}
				return
			}
			t.Error("there is no mistake for this message")
		})
	}
}
