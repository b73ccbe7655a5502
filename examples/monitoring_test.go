package examples

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestRunbooks shows that each alert links to a section of the guide.
func TestRunbooks(t *testing.T) {
	const guide = "https://github.com/crossplane-contrib/provider-kcp/blob/main/docs/monitoring.md#"
	alerts := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(read(t, "monitoring/alerts.yaml")), &alerts.Object); err != nil {
		t.Fatal(err)
	}
	headings := anchors(read(t, "../docs/monitoring.md"))
	groups, _, _ := unstructured.NestedSlice(alerts.Object, "spec", "groups")
	for _, g := range groups {
		rules, _, _ := unstructured.NestedSlice(g.(map[string]any), "rules")
		if len(rules) == 0 {
			t.Error("there are no alerts")
		}
		for _, r := range rules {
			rule := r.(map[string]any)
			url, _, _ := unstructured.NestedString(rule, "annotations", "runbook_url")
			if section, found := strings.CutPrefix(url, guide); !found || !headings[section] {
				t.Errorf("%s: want a link to a section of the guide, got %q", rule["alert"], url)
			}
		}
	}
}
