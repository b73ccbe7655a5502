package examples

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
)

// A link of Markdown to a file, with the heading it leads to, if any; code, which has none; and a heading.
var (
	link       = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped    = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinks shows that each link of the guides leads somewhere, and that docs/README.md lists each guide by its path.
func TestLinks(t *testing.T) {
	guides := find(t, "../docs", ".md")
	for _, f := range append(guides, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "README.md", mapOfCode) {
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(read(t, f), "code"), -1) {
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
		name := strings.TrimPrefix(f, "../docs/")
		if name != "README.md" && !strings.HasPrefix(name, generated) && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// generated is the folder of pages that make generate writes.
const generated = "reference/api/"

// mapOfCode says which package does what.
const mapOfCode = "../internal/README.md"

// TestMap shows that the table of packages in the map of the code names each package by its path, or by what a row adds
// to the path of a package that it begins with.
func TestMap(t *testing.T) {
	_, table := section(t, mapOfCode, "## Packages")
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
				t.Errorf("the map of the code does not name %s", name)
			}
		}
	}
}

// TestArchitecture shows that each file that the map of the code names is there, and each package has a layer.
func TestArchitecture(t *testing.T) {
	all, layers := section(t, mapOfCode, "## Layers")
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
		if name != "test" && !strings.Contains(layers, "`"+name+"`") {
			t.Errorf("package %s has no layer", name)
		}
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

// ofRuntime are the reasons of crossplane-runtime that resources of ours get.
var ofRuntime = []string{
	string(xpv2.ReasonAvailable), string(xpv2.ReasonUnavailable), string(xpv2.ReasonCreating), string(xpv2.ReasonDeleting),
	string(xpv2.ReasonReconcileSuccess), string(xpv2.ReasonReconcileError), string(xpv2.ReasonReconcilePaused),
	string(providerconfig.ReasonInUse),
	"CannotConnectToProvider", "CannotResolveResourceReferences", "CannotObserveExternalResource",
	"CannotCreateExternalResource",
	"CannotUpdateExternalResource", "CannotDeleteExternalResource", "CannotUpdateManagedResource",
	"CannotPublishConnectionDetails", "CreatedExternalResource", "UpdatedExternalResource",
	"UsageAccounting", "CannotUseInvalidManagementPolicy",
}

// named matches the name of a constant that is a reason.
var named = regexp.MustCompile(`^[rR]eason[A-Z]`)

// isReason matches what is called as reasons are.
var isReason = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// TestReasons shows that the page of reasons has each reason of the code, and no other: with cause and action in the
// sorted table of a kind, or in the list of those that need none.
func TestReasons(t *testing.T) {
	want := slices.Concat(ofRuntime, reasonsOf(t, "../apis"), reasonsOf(t, "../internal"))
	slices.Sort(want)
	page, list := section(t, "../docs/reference/reasons.md", "## Reasons that need no action")
	var got, idle, table []string
	for line := range strings.Lines(page) {
		reasons, rest, isRow := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if !isRow {
			table = nil
			continue
		}
		reasons, _, _ = strings.Cut(reasons, "(")
		for _, m := range quoted.FindAllStringSubmatch(reasons, -1) {
			cause, action, _ := strings.Cut(strings.TrimSpace(rest), "|")
			if cause == "" || strings.Trim(action, "|") == "" {
				t.Errorf("%s has no cause or no action", m[1])
			}
			table = append(table, m[1])
			got = append(got, m[1])
		}
		if !slices.IsSorted(table) {
			t.Errorf("reasons are not sorted: %v", table)
			table = nil
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(list, -1) {
		if isReason.MatchString(m[1]) {
			idle = append(idle, m[1])
		}
	}
	for _, r := range idle {
		if slices.Contains(got, r) {
			t.Errorf("%s needs an action, and needs none", r)
		}
	}
	got = append(got, idle...)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
		t.Errorf("reasons: -in the code, +on the page, sorted:\n%s", diff)
	}
}

// reasonsOf returns the values of all constants in a folder that are reasons, by their types or their names.
func reasonsOf(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == "../internal/test" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok {
				all = append(all, reasonsIn(s)...)
			}
			return true
		})
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("cannot find reasons in %s: %v", dir, err)
	}
	return all
}

// reasonsIn returns the values of constants that are reasons.
func reasonsIn(s *ast.ValueSpec) []string {
	var kind string
	switch of := s.Type.(type) {
	case *ast.Ident:
		kind = of.Name
	case *ast.SelectorExpr:
		kind = of.Sel.Name
	}
	var all []string
	for i, v := range s.Values {
		text, ok := v.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING || !strings.HasSuffix(kind, "Reason") && !named.MatchString(s.Names[i].Name) {
			continue
		}
		if value, err := strconv.Unquote(text.Value); err == nil {
			all = append(all, value)
		}
	}
	return all
}

// pinned matches an action that is named by its commit, with its version in a comment.
var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned shows that workflows name each action by its commit. A tag can be moved to other code, and one
// workflow signs releases.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	for _, f := range files {
		for line := range strings.Lines(read(t, f)) {
			if _, action, uses := strings.Cut(line, "uses: "); uses && !pinned.MatchString(strings.TrimSpace(action)) {
				t.Errorf("%s: want an action by its commit, with the version as a comment, got %s", f, action)
			}
		}
	}
}

var (
	// made is a command of guides and workflows that makes targets.
	made = regexp.MustCompile("(?m)(?:`|run: |^ *)make((?: [a-z][a-z0-9.]*)+)")
	// target begins a rule of the Makefile.
	target = regexp.MustCompile(`(?m)^([a-z0-9.]+):`)
)

// TestTargets shows that each target that a guide or a workflow makes is in the Makefile.
func TestTargets(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets[m[1]] = true
	}
	files := slices.Concat(find(t, "../docs", ".md"), find(t, "../.github", ".yml"),
		[]string{"../README.md", "../CONTRIBUTING.md", "README.md"})
	found := 0
	for _, f := range files {
		for _, m := range made.FindAllStringSubmatch(read(t, f), -1) {
			for name := range strings.FieldsSeq(m[1]) {
				found++
				if !targets[name] {
					t.Errorf("%s: the Makefile has no target %s", f, name)
				}
			}
		}
	}
	if found == 0 {
		t.Error("there are no commands")
	}
}
