package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
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
	const guide = "https://github.com/crossplane-contrib/provider-kcp/blob/main/docs/how-to/monitor.md#"
	headings := anchors(read(t, "../docs/how-to/monitor.md"))
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
	const ofOurs = " and on (cluster, job, instance) provider_kcp_build_info)"
	down := false
	for _, rule := range alerts(t) {
		expr, _ := rule["expr"].(string)
		names := metric.FindAllString(expr, -1)
		shared := slices.ContainsFunc(names, func(n string) bool {
			return !strings.HasPrefix(n, "provider_kcp_") && !strings.HasPrefix(n, "publishedresource_") &&
				!strings.HasSuffix(n, "_over_time")
		})
		if len(names) == 0 || shared && !strings.Contains(expr, ofOurs) {
			t.Errorf("%s: want metrics of ours alone, got %s", rule["alert"], expr)
		}
		down = down || strings.Contains(expr, "absent_over_time(provider_kcp_build_info[1d])")
		if by := strings.Count(expr, " by (cluster"); by == 0 || strings.Count(expr, " by (") > by {
			t.Errorf("%s: want it for each cluster, got %s", rule["alert"], expr)
		}
	}
	if !down {
		t.Error("no alert says that the provider is down")
	}
}

// quoted is a text in the marks of code.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestChartValues shows that README.md of the chart lists each value with its default.
func TestChartValues(t *testing.T) {
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, "../package/chart/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := leaves("", values, want); err != nil {
		t.Fatal(err)
	}
	_, table := section(t, "../package/chart/README.md", "## Values")
	got := map[string]string{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, " |")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		standard := strings.Trim(cells[1], " `")
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			got[m[1]] = standard
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values: -in values.yaml, +in the guide:\n%s", diff)
	}
}

// leaves adds to all the values that are not maps, by their paths as the guide writes them.
func leaves(path string, value any, all map[string]string) error {
	if m, ok := value.(map[string]any); ok && len(m) > 0 {
		for k, v := range m {
			if err := leaves(strings.TrimPrefix(path+"."+k, "."), v, all); err != nil {
				return err
			}
		}
		return nil
	}
	switch v := value.(type) {
	case []any, map[string]any:
		b, err := json.Marshal(v)
		all[path] = string(b)
		return err
	default:
		all[path] = fmt.Sprint(v)
	}
	return nil
}

// rightsOf returns the rights that the roles in documents of YAML grant, each as "verb group/resource".
func rightsOf(t *testing.T, content []byte) []string {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for doc := range bytes.SplitSeq(content, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{} // A Role has the same fields.
		if err := yaml.Unmarshal(doc, role); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return build.Rights(rules)
}

// granted reports whether Crossplane grants a right to each provider that it installs:
// https://github.com/crossplane/crossplane/blob/v2.4.0/internal/controller/rbac/provider/roles/roles.go
func granted(right string) bool {
	verb, what, _ := strings.Cut(right, " ")
	group, res, _ := strings.Cut(what, "/")
	switch {
	case strings.HasSuffix(res, "/finalizers"):
		return verb == "update"
	case group == "" || group == "coordination.k8s.io":
		return slices.Contains([]string{"secrets", "configmaps", "events", "leases"}, res)
	case group == "apiextensions.k8s.io":
		return slices.Contains([]string{"get", "list", "watch"}, verb)
	}
	return slices.Contains([]string{"get", "list", "watch", "create", "update", "patch"}, verb)
}

// TestUsualRights shows that the manifest of the usual rights grants just what the role for the control plane has and
// Crossplane does not grant, and all that the manifests grant which do not depend on the kinds of a user.
func TestUsualRights(t *testing.T) {
	wanted := slices.DeleteFunc(rightsOf(t, []byte(read(t, "rbac/control-plane.yaml"))), granted)
	usual := rightsOf(t, []byte(read(t, "rbac/usual.yaml")))
	if diff := cmp.Diff(wanted, slices.DeleteFunc(slices.Clone(usual), granted)); diff != "" {
		t.Errorf("rights that Crossplane does not grant: -in rbac/control-plane.yaml, +in rbac/usual.yaml:\n%s", diff)
	}
	for _, f := range []string{
		"rbac/allowed-namespaces.yaml", "rbac/applications.yaml", "rbac/collections.yaml", "rbac/leader-election.yaml",
	} {
		for _, right := range rightsOf(t, []byte(read(t, f))) {
			if !slices.Contains(usual, right) {
				t.Errorf("%s grants %q, and rbac/usual.yaml does not", f, right)
			}
		}
	}
}

// tested is a row of the table of versions. modules are those whose programs tests run, by their names in the table.
var (
	tested  = regexp.MustCompile(`(?m)^\|([^|]+)\|(\d+\.\d+\.\d+)\|`)
	modules = map[string]string{
		"Kubernetes": "k8s.io/kubernetes", "kcp": "github.com/kcp-dev/kcp", "Crossplane": "github.com/crossplane/crossplane",
		"Operator Lifecycle Manager": "github.com/operator-framework/operator-lifecycle-manager", "Helm": "helm.sh/helm/v3",
		"cert-manager":        "github.com/cert-manager/cert-manager",
		"provider-kubernetes": "github.com/crossplane-contrib/provider-kubernetes",
	}
)

// TestTestedVersions shows that each version in the table of tested ones is one that a tool of the tests pins.
func TestTestedVersions(t *testing.T) {
	var pins strings.Builder
	for _, f := range find(t, "../hack/tools", ".mod") {
		pins.WriteString(read(t, f))
	}
	_, table := section(t, "../docs/reference/support.md", "## Versions")
	rows := tested.FindAllStringSubmatch(table, -1)
	if len(rows) < len(modules) {
		t.Errorf("want a version of each of %d projects, got %d", len(modules), len(rows))
	}
	for _, m := range rows {
		pin := regexp.MustCompile(regexp.QuoteMeta(modules[m[1]]) + `(/v\d)? v` + regexp.QuoteMeta(m[2]) + `\s`)
		if modules[m[1]] == "" || !pin.MatchString(pins.String()) {
			t.Errorf("no tool of the tests pins %s %s", m[1], m[2])
		}
	}
}
