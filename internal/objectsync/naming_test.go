package objectsync_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestNamesStay shows that other naming rules hold for what is created from then on, and that a copy which is there is
// found and kept in step by its old name.
func TestNamesStay(t *testing.T) {
	w := newWorld(t)
	by := func(name string) *objectsync.Syncer {
		return w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{
			Name: name + "-$remoteName", Namespace: "$remoteClusterName-" + name,
		}})
	}
	w.create(w.above, thing(w.input.Object))
	w.mustSync(by("first"), w.input)
	was := w.theCopy(w.cluster)
	w.patch(w.above, thing(w.input.Object), `{"spec":{"new":"x"}}`)
	w.mustSync(by("second"), w.input)
	is := w.theCopy(w.cluster)
	if got, _, _ := unstructured.NestedString(is.Object, "spec", "new"); got != "x" || is.GetUID() != was.GetUID() ||
		is.GetName() != "first-web" {
		t.Errorf("want the same copy with the change, got %v", is.Object)
	}
	second := w.input
	second.Object.Name = "late"
	w.create(w.above, thing(second.Object))
	w.mustSync(by("second"), second)
	if w.read(second.Service, things.Service,
		types.NamespacedName{Namespace: w.cluster + "-second", Name: "second-late"}) == nil {
		t.Error("want the copy of a new object by the new rules")
	}
}
