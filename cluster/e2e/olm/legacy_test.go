package olm

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestStacksInCrossplane1 shows that claims work in the last Crossplane 1, whose own engine makes of the stacks what
// function patch-and-transform would.
func TestStacksInCrossplane1(t *testing.T) {
	s := newSite(t)
	crossplane.Start(t, local.StartCrossplane1, s.server.Config())
	s.defineStacks(t)
	s.connectAsGuide(t)
	s.run(t)
	s.rounds(t, claims, append(plains(1), olms(2, 1, 1)...))
}

// defineStacks makes the definitions and Compositions of the stacks, with the resources of the function as those of the
// Composition.
func (s *site) defineStacks(t *testing.T) {
	t.Helper()
	dir := filepath.Join(capabilities, "configurations", "claims")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find stacks: %v", err)
	}
	for _, f := range files {
		objects, err := read(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "Composition" {
				unpipe(t, o)
			}
			if err := s.c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, of := range []string{"networkings", "loggings", "alls"} {
		xrd := &unstructured.Unstructured{}
		xrd.SetGroupVersionKind(schema.GroupVersionKind{
			Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositeResourceDefinition",
		})
		xrd.SetName(of + "." + claims.group)
		kube.Eventually(t, of+" to be offered", func() (bool, string) {
			status, why := s.condition(t, xrd, "Offered")
			return status == "True", why
		})
	}
}

// unpipe makes of a Composition with functions one without.
func unpipe(t *testing.T, composition *unstructured.Unstructured) {
	t.Helper()
	steps, _, err := unstructured.NestedSlice(composition.Object, "spec", "pipeline")
	if err != nil || len(steps) != 2 {
		t.Fatalf("want two steps: %v, %v", steps, err)
	}
	resources, _, err := unstructured.NestedSlice(steps[0].(map[string]any), "input", "resources")
	if err != nil {
		t.Fatal(err)
	}
	spec := composition.Object["spec"].(map[string]any)
	delete(spec, "pipeline")
	spec["mode"], spec["resources"] = "Resources", resources
}
