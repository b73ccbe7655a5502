package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link of Markdown to a file, with the heading it leads to, if any; and a heading.
var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinks shows that each link of the guides leads somewhere, and that the README lists each guide.
func TestLinks(t *testing.T) {
	guides := find(t, "../docs", ".md")
	for _, f := range append(guides, "../README.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, f), -1) {
			to := filepath.Join(filepath.Dir(f), m[1])
			if m[1] == "" {
				to = f
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s is not there", f, m[1])
				continue
			}
			if m[2] != "" && !anchors(read(t, to))[m[2]] {
				t.Errorf("%s: %s has no heading #%s", f, to, m[2])
			}
		}
	}
	readme := read(t, "../README.md")
	for _, f := range guides {
		if name := "docs/" + filepath.Base(f); !strings.Contains(readme, "]("+name+")") {
			t.Errorf("the README does not list %s", name)
		}
	}
}

// anchors returns what links may call the headings of a guide.
func anchors(content string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(content, -1) {
		all[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
