package examples

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

// ofRuntime are the reasons of crossplane-runtime that resources of ours get.
var ofRuntime = []string{
	string(xpv2.ReasonAvailable), string(xpv2.ReasonUnavailable), string(xpv2.ReasonCreating), string(xpv2.ReasonDeleting),
	string(xpv2.ReasonReconcileSuccess), string(xpv2.ReasonReconcileError), string(xpv2.ReasonReconcilePaused),
	string(providerconfig.ReasonInUse),
	"CannotConnectToProvider", "CannotObserveExternalResource", "CannotCreateExternalResource",
	"CannotUpdateExternalResource", "CannotDeleteExternalResource", "CannotUpdateManagedResource",
	"CannotPublishConnectionDetails", "CreatedExternalResource", "UpdatedExternalResource",
}

// named matches the name of a constant that is a reason.
var named = regexp.MustCompile(`^[rR]eason[A-Z]`)

// TestReasons shows that the table of reasons has each reason of the code, with cause and cure, and no other.
func TestReasons(t *testing.T) {
	want := slices.Concat(ofRuntime, reasonsOf(t, "../apis"), reasonsOf(t, "../internal"))
	slices.Sort(want)
	_, table := section(t, "../docs/reasons.md", "## All reasons")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$").
		FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("reasons: -in the code, +in the table, sorted:\n%s", diff)
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
