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

// TestLinks shows that each link of the guides leads somewhere, and that docs/README.md lists each guide.
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
	index := read(t, "../docs/README.md")
	for _, f := range guides {
		if name := filepath.Base(f); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// TestMap shows that the table of the tree in the architecture names each package by its path, or by what a row adds to
// the path of a package that it begins with.
func TestMap(t *testing.T) {
	_, table := section(t, "../docs/architecture.md", "## Where things are")
	named := map[string]bool{}
	for line := range strings.Lines(table) {
		roots := []string{""}
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if root, ok := strings.CutSuffix(m[1], "/"); ok {
				roots = append(roots, root+"/")
				named[root] = true
				continue
			}
			for _, root := range roots {
				named[root+m[1]] = true
			}
		}
	}
	for _, root := range []string{"../internal", "../cmd", "../cluster", "../hack"} {
		for dir := range packages(t, root) {
			if name := strings.TrimPrefix(dir, "../"); !named[name] {
				t.Errorf("the map in the architecture does not name %s", name)
			}
		}
	}
}

// TestArchitecture shows that each file that the architecture names is there, each package has a rank, and the glossary
// explains each word once.
func TestArchitecture(t *testing.T) {
	all, ranks := section(t, "../docs/architecture.md", "## Ranks")
	for line := range strings.Lines(all) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.Join("../internal", m[1])); err != nil && filepath.Ext(m[1]) == ".go" &&
				strings.Contains(m[1], "/") {
				t.Errorf("%s is not there", m[1])
			}
		}
	}
	for dir := range packages(t, "../internal") {
		name := strings.TrimPrefix(dir, "../internal/")
		if top, _, _ := strings.Cut(name, "/"); top == "test" || top == "identity" {
			name = top
		}
		if name != "test" && !strings.Contains(ranks, "`"+name+"`") {
			t.Errorf("package %s has no rank", name)
		}
	}
	_, glossary := section(t, "../docs/architecture.md", "## Glossary")
	seen := map[string]bool{}
	for line := range strings.Lines(glossary) {
		word, meaning, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !found || word == "word" {
			continue
		}
		if seen[word] || strings.TrimSpace(strings.Trim(meaning, "|\n ")) == "" {
			t.Errorf("the glossary explains %q twice, or not at all", word)
		}
		seen[word] = true
	}
}

// section returns a guide, and the part of it below a heading.
func section(t *testing.T, path, heading string) (all, part string) {
	t.Helper()
	all = read(t, path)
	_, part, found := strings.Cut(all, heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", path, heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return all, part
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
