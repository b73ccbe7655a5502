package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestOrphansOfKinds shows that only copies of objects of our own kind count as left behind, where others have copies
// of the same kind.
func TestOrphansOfKinds(t *testing.T) {
	p := newTestPublication(t)
	p.worker.config.Sync.Primary.Workspace = objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
		Kind:                 "Thing",
	}
	copied := func(kind, orphaned string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetLabels(map[string]string{objectsync.LabelCluster: "cluster"})
		u.SetAnnotations(map[string]string{objectsync.AnnotationKind: kind, objectsync.AnnotationOrphaned: orphaned})
		return u
	}
	for name, u := range map[string]*unstructured.Unstructured{
		"ours": copied("Thing.example.com", "true"), "theirs": copied("Other.example.com", "true"),
		"unmarked": copied("", "true"), "used": copied("Thing.example.com", ""),
	} {
		p.worker.objects.noteOrphan(in("cluster", name), p.worker.isOrphan(u))
	}
	want := &v1alpha1.ObjectCounts{
		Orphaned: 1, Orphans: []v1alpha1.WorkspaceOrphans{{Workspace: "cluster", Copies: 1}},
	}
	if diff := cmp.Diff(want, p.status()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	p.worker.newPass(t.Context(), in("cluster", "ours")).forget()
	if got := p.status().Orphaned; got != 0 {
		t.Errorf("want none when it is gone, got %d", got)
	}
}
