package examples

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// alerts returns all rules of the alerts.
func alerts(t *testing.T) (all []map[string]any) {
	t.Helper()
	file := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(read(t, "monitoring/alerts.yaml")), &file.Object); err != nil {
		t.Fatal(err)
	}
	groups, _, _ := unstructured.NestedSlice(file.Object, "spec", "groups")
	for _, g := range groups {
		rules, _, _ := unstructured.NestedSlice(g.(map[string]any), "rules")
		for _, r := range rules {
			all = append(all, r.(map[string]any))
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// TestRunbooks shows that each alert links to a section of the guide.
func TestRunbooks(t *testing.T) {
	const guide = "https://github.com/crossplane-contrib/provider-kcp/blob/main/docs/monitoring.md#"
	headings := anchors(read(t, "../docs/monitoring.md"))
	for _, rule := range alerts(t) {
		url, _, _ := unstructured.NestedString(rule, "annotations", "runbook_url")
		if section, found := strings.CutPrefix(url, guide); !found || !headings[section] {
			t.Errorf("%s: want a link to a section of the guide, got %q", rule["alert"], url)
		}
	}
}

// metric is what an expression of PromQL asks for.
var metric = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)

// TestAlertsAreOurs shows that each alert asks for metrics that only this provider has, or for those of its processes,
// and that one says when there is none. Other providers and controllers have metrics of the same names.
func TestAlertsAreOurs(t *testing.T) {
	const ofOurs = " and on (job, instance) provider_kcp_build_info)"
	down := false
	for _, rule := range alerts(t) {
		expr, _ := rule["expr"].(string)
		names := metric.FindAllString(expr, -1)
		shared := slices.ContainsFunc(names, func(n string) bool {
			return !strings.HasPrefix(n, "provider_kcp_") && !strings.HasPrefix(n, "publishedresource_")
		})
		if len(names) == 0 || shared && !strings.Contains(expr, ofOurs) {
			t.Errorf("%s: want metrics of ours alone, got %s", rule["alert"], expr)
		}
		down = down || expr == "absent(provider_kcp_build_info)"
	}
	if !down {
		t.Error("no alert says that the provider is down")
	}
}
