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
	for _, f := range append(guides, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md") {
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

// TestMap shows that the table of the tree in the README names each package that is not for one test alone.
func TestMap(t *testing.T) {
	readme := read(t, "../README.md")
	_, table, found := strings.Cut(readme, "## Where things are")
	if !found {
		t.Fatal("the README has no map")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, root := range []string{"../internal", "../cmd", "../cluster", "../hack"} {
		for dir := range packages(t, root) {
			name := strings.TrimPrefix(dir, "../")
			if !strings.Contains(table, "`"+name+"/`") && !strings.Contains(table, "`"+filepath.Base(name)+"`") &&
				!strings.Contains(table, "`"+strings.TrimPrefix(name, "cluster/local/")+"`") {
				t.Errorf("the map in the README does not name %s", name)
			}
		}
	}
}

// packages returns the folders below a root that hold Go code beside tests.
func packages(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "doc.go" {
			all[filepath.Dir(path)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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
