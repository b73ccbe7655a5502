package examples

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/expression"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

var (
	separator = regexp.MustCompile(`(?m)^---$`)
	// templated is a query in the template of a Composition.
	templated = regexp.MustCompile(`(?m)^ +celQuery: (.+)$`)
)

// TestQueriesAreCEL shows that each CEL query of the examples and guides can be asked.
func TestQueriesAreCEL(t *testing.T) {
	queries := 0
	for _, f := range append(find(t, ".", ".yaml"), find(t, "../docs", ".md")...) {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		docs := separator.Split(string(content), -1)
		if strings.HasSuffix(f, ".md") {
			docs = nil
			for _, block := range fence.FindAllSubmatch(content, -1) {
				docs = append(docs, separator.Split(string(block[2]), -1)...)
			}
		}
		for _, doc := range docs {
			var parsed any
			if !strings.Contains(doc, "celQuery:") {
				continue
			}
			if err := yaml.Unmarshal([]byte(doc), &parsed); err != nil {
				t.Errorf("%s: %v", f, err)
			}
			found := queriesIn(parsed)
			if len(found) == 0 {
				t.Errorf("%s: no query where there should be one", f)
			}
			queries += len(found)
			for _, q := range found {
				if _, err := readiness.Query(q, map[string]any{}); errors.Is(err, expression.ErrInvalid) {
					t.Errorf("%s: %v: %s", f, err, q)
				}
			}
		}
	}
	if queries == 0 {
		t.Error("there are no queries")
	}
}

// queriesIn returns the CEL queries of an Object, or of the Objects that a Composition makes.
func queriesIn(content any) []string {
	var found []string
	switch c := content.(type) {
	case string:
		for _, m := range templated.FindAllStringSubmatch(c, -1) {
			found = append(found, m[1])
		}
	case []any:
		for _, v := range c {
			found = append(found, queriesIn(v)...)
		}
	case map[string]any:
		for k, v := range c {
			if q, ok := v.(string); ok && k == "celQuery" {
				found = append(found, q)
				continue
			}
			found = append(found, queriesIn(v)...)
		}
	}
	return found
}
