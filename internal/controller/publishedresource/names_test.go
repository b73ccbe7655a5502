package publishedresource_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// TestLongExport shows that an API is published in an APIExport whose name has no room for more in a label.
func TestLongExport(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 57)
	s := newShop(t, exportName, long)
	s.connect(t, s.agent(t, long))
	o := s.publish(t, "hats", func(o *v1alpha1.PublishedResource) {
		o.Spec.APIExport = &commonv1.APIExport{Name: long}
	})
	if got := s.schemaOffered(t, o).Labels[v1alpha1.LabelKeyAgentName]; len(got) != validation.LabelValueMaxLength {
		t.Errorf("agent of the schema: got %q", got)
	}
}
