package objectsync

import (
	"fmt"
	"strings"
	"testing"

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
