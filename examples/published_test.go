package examples

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// acceptRules compiles the rules of a PublishedResource, as is done before it is served: the server does not know
// whether a template or an expression is one.
func acceptRules(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if u.GetKind() != v1alpha1.PublishedResourceGroupVersionKind.Kind {
		return
	}
	o := &v1alpha1.PublishedResource{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		t.Error(err)
		return
	}
	c := objectsync.Config{Spec: &o.Spec, Agent: "agent", Related: map[string]objectsync.Pair{}}
	for i := range o.Spec.Related {
		c.Related[o.Spec.Related[i].Name()] = objectsync.Pair{}
	}
	if _, err := objectsync.New(c); err != nil {
		t.Errorf("PublishedResource %q cannot be served: %v", u.GetName(), err)
	}
}

// TestEarlierGuides shows that what guides of api-syncagent have shown through the years can be served. That it is
// accepted is shown beside the files.
func TestEarlierGuides(t *testing.T) {
	files := find(t, "../apis/cluster/publishedresource/v1alpha1/testdata/guide", ".yaml")
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		acceptRules(t, u)
	}
}
