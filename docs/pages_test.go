// Package docs checks the form of the documentation: how long pages are, what is in them, and which words they use.
package docs

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Folders of pages by their kind.
const (
	tutorials   = "docs/tutorials/"
	howTo       = "docs/how-to/"
	reference   = "docs/reference/"
	explanation = "docs/explanation/"
	generated   = "docs/reference/api/"
)

// pages returns the Markdown files that are counted, by their path from the root, with what they hold.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := os.DirFS("..")
	if err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == "hack" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") ||
			len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" || strings.HasPrefix(path, generated) {
			return nil
		}
		b, err := fs.ReadFile(root, path)
		found[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("found no pages")
	}
	return found
}

// counts reads a file of testdata with a path and a number on each line.
func counts(t *testing.T, name string) map[string]int {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	m := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		path, n, found := strings.Cut(s.Text(), " ")
		if strings.HasPrefix(path, "#") {
			continue
		}
		if m[path], err = strconv.Atoi(n); err != nil || !found {
			t.Fatalf("%s: %q is not a path and a number", name, s.Text())
		}
	}
	return m
}

// TestWordBudget shows that each page has a limit, which it keeps but for 2 %, and that all pages together keep theirs.
func TestWordBudget(t *testing.T) {
	t.Parallel()
	limits := counts(t, "words.txt")
	most, sum := limits["all"], 0
	delete(limits, "all")
	for path, text := range pages(t) {
		n := len(strings.Fields(text))
		sum += n
		limit, found := limits[path]
		switch delete(limits, path); {
		case !found:
			t.Errorf("%s has no limit in testdata/words.txt", path)
		case n > limit+limit/50:
			t.Errorf("%s has %d words, its limit is %d", path, n, limit)
		}
	}
	for path := range limits {
		t.Errorf("testdata/words.txt: %s is not there", path)
	}
	if sum > most {
		t.Errorf("all pages have %d words, the limit is %d", sum, most)
	}
}

var (
	fenced     = regexp.MustCompile("(?ms)^ *(```|~~~).*?^ *(```|~~~) *$")
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	code       = regexp.MustCompile("`[^`\n]*`")
	target     = regexp.MustCompile(`\]\([^)]*\)`)
	numbered   = regexp.MustCompile(`(?m)^\d+\. `)
	item       = regexp.MustCompile(`(?m)^( *[-*] | *\d+\. |#+ .*$)`)
	sentence   = regexp.MustCompile(`[.!?:]["*_)]*(\s|$)|\n\s*\n`)
	unreleased = regexp.MustCompile(`(?i:\b(earlier|former) builds?\b|\bbuilds? before\b)|\bBefore, (it|this|the) `)
)

// prose returns a page without what is not said in words: code, tables if told so, and targets of links.
func prose(text string, tables bool) string {
	text = comment.ReplaceAllString(fenced.ReplaceAllString(text, "\n"), "\n")
	text = target.ReplaceAllString(code.ReplaceAllString(text, "X"), "]")
	var kept []string
	for line := range strings.Lines(text) {
		if isRow := strings.HasPrefix(strings.TrimSpace(line), "|"); !isRow || tables {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestForm shows that a page has the form of its kind: the headings of tutorials and how-tos, no steps elsewhere, short
// sentences and narrow tables.
func TestForm(t *testing.T) {
	t.Parallel()
	for path, text := range pages(t) {
		dir := filepath.Dir(path) + "/"
		if !slices.Contains([]string{tutorials, howTo, reference, explanation}, dir) {
			continue
		}
		for _, problem := range slices.Concat(headings(dir, text), sentences(text), tables(text)) {
			t.Errorf("%s: %s", path, problem)
		}
	}
}

// headings returns what is wrong with the headings and steps of a page in a folder.
func headings(dir, text string) (problems []string) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, "\n## "+n+"\n") })
	}
	ends := []string{
		"Clean up", "Undo", "If something fails", "Uninstall", "Go back", "Remove the agent", "Delete", "Leave",
	}
	switch dir {
	case tutorials, howTo:
		if !has("Before you begin") {
			problems = append(problems, "has no heading Before you begin")
		}
		if !has(ends...) {
			problems = append(problems, "has none of the headings "+strings.Join(ends, ", "))
		}
	default:
		if numbered.MatchString(prose(text, false)) {
			problems = append(problems, "has numbered steps")
		}
	}
	return problems
}

// sentences returns which sentences of a page are too long, and whether they are on average.
func sentences(text string) (problems []string) {
	const most, mean = 30, 16
	words, n := 0, 0
	for _, s := range sentence.Split(item.ReplaceAllString(prose(text, false), "\n\n"), -1) {
		k := len(strings.Fields(s))
		if k == 0 {
			continue
		}
		words, n = words+k, n+1
		if k > most {
			problems = append(problems, fmt.Sprintf("a sentence has %d words, more than %d: %s", k, most,
				strings.Join(strings.Fields(s)[:8], " ")))
		}
	}
	if n > 0 && words > mean*n {
		problems = append(problems, fmt.Sprintf("sentences have %d words on average, more than %d", words/n, mean))
	}
	return problems
}

// tables returns which cells of the tables of a page are too long, and which rows too wide.
func tables(text string) (problems []string) {
	const most, columns = 25, 4
	for line := range strings.Lines(fenced.ReplaceAllString(text, "\n")) {
		row, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !isRow {
			continue
		}
		row = strings.ReplaceAll(prose(strings.ReplaceAll(row, `\|`, " "), true), `|`, "|")
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|")
		if len(cells) > columns {
			problems = append(problems, fmt.Sprintf("a table has %d columns, more than %d: %.60s", len(cells), columns, line))
		}
		for _, c := range cells {
			if k := len(strings.Fields(c)); k > most {
				problems = append(problems, fmt.Sprintf("a cell has %d words, more than %d: %.60s", k, most, c))
			}
		}
	}
	return problems
}

// TestNothingUnreleased shows that no page says what unreleased builds did, and that few say that nothing is released.
func TestNothingUnreleased(t *testing.T) {
	t.Parallel()
	may := []string{"README.md", "CHANGELOG.md", howTo + "install.md", howTo + "install-with-helm.md"}
	for path, text := range pages(t) {
		text = prose(text, true)
		if found := unreleased.FindString(text); found != "" {
			t.Errorf("%s: %q tells of what was not released", path, found)
		}
		if strings.Contains(text, "not released yet") && !slices.Contains(may, path) {
			t.Errorf("%s says that something is not released yet, which only %s may", path, strings.Join(may, ", "))
		}
	}
}
