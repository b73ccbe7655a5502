package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// pin is how the go.mod of a tool begins.
	pin = regexp.MustCompile(`(?m)^// (?:What main.go requires, which runs controllers of|What) (\S.*?) (\d+\.\d+\.\d+)`)
	// tested is a row of the table of versions.
	tested = regexp.MustCompile(`(?m)^\| ([^|]+) \| (\d+\.\d+\.\d+) \| `)
)

// TestTestedVersions shows that each version that the release notes say was tested with is one that tests run.
func TestTestedVersions(t *testing.T) {
	pins, err := filepath.Glob("../hack/tools/*/go.mod")
	if err != nil || len(pins) == 0 {
		t.Fatalf("there are no tools: %v", err)
	}
	var runs []string
	for _, f := range pins {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := pin.FindSubmatch(b); m != nil {
			runs = append(runs, string(m[1])+" "+string(m[2]))
		}
	}
	_, table, found := strings.Cut(read(t, "../docs/releases.md"), "\n## What it is tested with\n")
	if !found {
		t.Fatal("the release notes do not say what was tested with")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	rows := tested.FindAllStringSubmatch(table, -1)
	if len(rows) == 0 {
		t.Error("the table is empty")
	}
	for _, m := range rows {
		if is := m[1] + " " + m[2]; !slices.Contains(runs, is) {
			t.Errorf("no test runs %s; they run: %s", is, strings.Join(runs, ", "))
		}
	}
}
