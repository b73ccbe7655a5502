package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// definitions are those of a kind in both scopes, the cluster-scoped one in two versions.
var definitions = map[string]string{
	"a": `
spec:
  group: a.example.org
  names: {kind: Thing, plural: things, shortNames: [th]}
  scope: Cluster
  versions:
    - name: v1
      served: true
      deprecated: true
      schema:
        openAPIV3Schema:
          description: A Thing is a test.
          properties: {spec: {type: object, properties: {old: {type: boolean}}}}
    - name: v2
      served: true
      storage: true
      schema: {openAPIV3Schema: {description: A Thing is a test., properties: {spec: {type: object}}}}
`,
	"b": `
spec:
  group: b.example.org
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          description: A Thing is a test.
          x-kubernetes-validations: [{rule: size(self.metadata.name) < 9, message: the name is too long}]
          properties:
            kind: {type: string}
            spec:
              type: object
              required: [list]
              properties:
                list:
                  description: "Items\n| others."
                  type: array
                  maxItems: 3
                  items:
                    type: object
                    x-kubernetes-validations: [{rule: self.a != 0}]
                    properties:
                      word: {type: string, enum: ["", one], default: one, pattern: a|b}
                map:
                  type: object
                  additionalProperties: {type: object, properties: {count: {type: integer, minimum: 1}}}
`,
}

// TestReference shows what a page has of each field: its path, type, default, rules and meaning, and which forms of its
// kind have it.
func TestReference(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, content := range definitions {
		if err := os.WriteFile(filepath.Join(from, name+".yaml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onPage := func(files ...string) []page {
		return []page{{"thing.md", "Fields of Thing", "thing.md", []kind{{Name: "Thing", files: files}}}}
	}
	if err := writeReference(to, from, onPage("a")); err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("want an error that names the definition without a page, got: %v", err)
	}
	if err := writeReference(to, from, onPage("a", "b")); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(read(t, filepath.Join(to, "thing.md")), "of a map.\n")
	if diff := cmp.Diff(strings.TrimLeft(`
A Thing is a test.

| form | apiVersion | kind | names in kubectl |
|---|---|---|---|
| cluster-scoped | 'a.example.org/v2' | Thing | things, th |
| cluster-scoped, deprecated | 'a.example.org/v1' | Thing | things, th |
| namespaced | 'b.example.org/v1' | Thing | things |

- Rule of the whole resource, **only namespaced**: the name is too long

## Spec
| path | type | default | rules | meaning |
|---|---|---|---|---|
| 'spec' | object |  |  |  |
| 'spec.list' | []object |  | required; maxItems 3; each: 'self.a != 0' | **Only namespaced.** Items \| others. |
| 'spec.list[].word' | string | '"one"' | one of empty, 'one'; pattern 'a\|b' | **Only namespaced.**  |
| 'spec.map' | map[string]object |  |  | **Only namespaced.**  |
| 'spec.map{}.count' | integer |  | minimum 1 | **Only namespaced.**  |
| 'spec.old' | boolean |  |  | **Only cluster-scoped v1.**  |
`, "\n"), strings.TrimLeft(strings.ReplaceAll(got, "`", "'"), "\n")); diff != "" {
		t.Errorf("page: -want, +got:\n%s", diff)
	}
}

// TestReferenceIsCurrent shows that the pages are those of the definitions.
func TestReferenceIsCurrent(t *testing.T) {
	dir, pages := t.TempDir(), pages()
	if err := writeReference(dir, filepath.Join("..", "..", "package", "crds"), pages); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		kept := filepath.Join("..", "..", "docs", "reference", "api", p.File)
		if read(t, kept) != read(t, filepath.Join(dir, p.File)) {
			t.Errorf("%s is not what package/crds says; run: make generate", kept)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
