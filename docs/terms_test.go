package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "lower the counts in testdata/terms-allowed.txt to what is found")

// A term is a word that documents and messages do not use, with what they say instead.
type term struct {
	word    *regexp.Regexp
	instead string
}

// TestTerms shows that pages, descriptions of fields and messages use the words of the field: of the others in
// testdata/terms.txt each file has as many as testdata/terms-allowed.txt allows, which only falls.
func TestTerms(t *testing.T) {
	t.Parallel()
	terms, allowed, found := termsOf(t), counts(t, "terms-allowed.txt"), map[string]int{}
	for path, text := range texts(t) {
		n, first := 0, []string{}
		for _, m := range terms {
			if all := m.word.FindAllString(text, -1); len(all) > 0 {
				n += len(all)
				first = append(first, fmt.Sprintf("%q, write %s", all[0], m.instead))
			}
		}
		if n > 0 {
			found[path] = n
		}
		if n > allowed[path] && !*update {
			t.Errorf("%s has %d words that the field does not use, %d are allowed:\n\t%s", path, n, allowed[path],
				strings.Join(first, "\n\t"))
		}
	}
	if *update {
		lower(t, allowed, found)
		return
	}
	for path, n := range allowed {
		if found[path] < n {
			t.Errorf("%s has %d such words by now, and not %d: run go test ./docs -run TestTerms -update", path, found[path], n)
		}
	}
}

// lower writes what was found where it is less than what is allowed.
func lower(t *testing.T, allowed, found map[string]int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# How many words of terms.txt a file may still have. A count only falls.\n")
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if n := min(found[path], allowed[path]); n > 0 {
			fmt.Fprintf(&b, "%s %d\n", path, n)
		}
	}
	if err := os.WriteFile("testdata/terms-allowed.txt", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func termsOf(t *testing.T) (terms []term) {
	t.Helper()
	b, err := os.ReadFile("testdata/terms.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if word, instead, found := strings.Cut(strings.TrimSpace(line), " => "); found {
			terms = append(terms, term{regexp.MustCompile(`(?i)\b(` + word + `)\b`), instead})
		}
	}
	return terms
}

var description = regexp.MustCompile(`(?m)^ *description: *\|?-?((?:.*\n)(?: +.*\n)*?)(?: +(?:[a-z][A-Za-z-]*:|- )|\z)`)

// texts returns what is read: prose of pages, descriptions of the definitions, and messages of the program, by file.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path, text := range pages(t) {
		all[path] = prose(text, true)
	}
	for _, root := range []string{"package/crds", "internal", "cmd"} {
		if err := fs.WalkDir(os.DirFS(".."), root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch {
			case filepath.Ext(path) == ".yaml" && root == "package/crds":
				b, err := os.ReadFile(filepath.Join("..", path))
				for _, m := range description.FindAllStringSubmatch(string(b), -1) {
					all[path] += m[1] + "\n"
				}
				return err
			case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") &&
				!strings.HasPrefix(path, "internal/test/"):
				all[path] = messages(t, filepath.Join("..", path))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// messages returns the texts in a Go file that become errors, conditions or events.
func messages(t *testing.T, path string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	ast.Inspect(f, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		fun, isSelector := call.Fun.(*ast.SelectorExpr)
		if !isSelector {
			return true
		}
		of, _ := fun.X.(*ast.Ident)
		says := of != nil && slices.Contains([]string{"errors", "event", "fmt", "targetresource", "field"}, of.Name) ||
			slices.Contains([]string{"WithMessage", "Help", "Event", "Info", "Debug"}, fun.Sel.Name)
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				lit, isLit := n.(*ast.BasicLit)
				if says && isLit && lit.Kind == token.STRING {
					s, _ := strconv.Unquote(lit.Value)
					said.WriteString(s + "\n")
				}
				return true
			})
		}
		return true
	})
	return said.String()
}
