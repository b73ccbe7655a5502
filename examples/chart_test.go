package examples

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// quoted is a text in the marks of code.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestChartValues shows that the guide to the chart lists each value with its default.
func TestChartValues(t *testing.T) {
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, "../package/chart/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := leaves("", values, want); err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(read(t, "../docs/helm.md"), "\n## Values\n")
	if !found {
		t.Fatal("the guide has no values")
	}
	table, _, _ = strings.Cut(table, "\n## ")
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
