package examples

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

// object is the part of an Object that these tests read.
type object struct {
	Spec struct {
		Readiness struct {
			CelQuery string `json:"celQuery"`
		} `json:"readiness"`
	} `json:"spec"`
}

var separator = regexp.MustCompile(`(?m)^---$`)

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
			o := object{}
			if !strings.Contains(doc, "celQuery:") {
				continue
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Errorf("%s: %v", f, err)
			}
			queries++
			if _, err := readiness.Query(o.Spec.Readiness.CelQuery, map[string]any{}); errors.Is(err, readiness.ErrInvalidQuery) {
				t.Errorf("%s: %v: %s", f, err, o.Spec.Readiness.CelQuery)
			}
		}
	}
	if queries == 0 {
		t.Error("there are no queries")
	}
}
