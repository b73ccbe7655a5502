package objectsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestLongAnnotations shows that annotations about related objects never keep an object from being synced: what has too
// long a name for a server is left out, and there are only so many that the consumer has room for others.
func TestLongAnnotations(t *testing.T) {
	for _, tc := range []struct{ length, objects, least, most int }{
		{length: 59, objects: 11, least: 11, most: 11},
		{length: 61, objects: 11, least: 10, most: 10}, // The last would have a digit too many.
		{length: 63, objects: 11},
		{length: 59, objects: 1000, least: 200, most: 400},
	} {
		p, c := planning(v1alpha1.OriginService, "")
		c.rule.identifier = strings.Repeat("i", tc.length)
		s, all := p.view.stored.clone(), []*copySync(nil)
		for i := range tc.objects {
			one := *c
			one.to.Name = fmt.Sprintf("%0250d", i)
			s.remember(&one, nil, false)
			all = append(all, &one)
		}
		p.view.source.SetAnnotations(map[string]string{"note": strings.Repeat("x", 1000)})
		got := asMap(asMap(p.planAnnotations(all, nil, &s)["metadata"])["annotations"])
		if len(got) < tc.least || len(got) > tc.most {
			t.Errorf("%v: got %d annotations", tc, len(got))
		}
		for key := range got {
			if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
				t.Errorf("%v: %s: %v", tc, key, wrong)
			}
		}
	}
}

// TestNamesOfNamespaces shows that a spec is refused whose namespaces no server would make.
func TestNamesOfNamespaces(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		fails               bool
	}{
		"Names":           {labels: map[string]string{"a.b/c": "d"}, annotations: map[string]string{"a": long + "/"}},
		"Template":        {labels: map[string]string{"a": "{{ .ClusterPath | replace \":\" \".\" }}"}},
		"LongLabel":       {labels: map[string]string{long: "a"}, fails: true},
		"LongValue":       {labels: map[string]string{"a": long}, fails: true},
		"AnnotationSpace": {annotations: map[string]string{"a b": "a"}, fails: true},
	} {
		_, err := New(Config{Spec: &v1alpha1.PublishedResourceSpec{
			CreatedNamespaces: &v1alpha1.CreatedNamespaces{Labels: tc.labels, Annotations: tc.annotations},
		}})
		if errors.Is(err, ErrInvalidSpec) != tc.fails {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
