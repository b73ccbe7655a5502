package objectsync_test

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestAbandonTakeover shows that a copy of api-syncagent which is left behind before we have changed it tells its kind,
// as those that are left behind later do, and that it is known as the copy before and after.
func TestAbandonTakeover(t *testing.T) {
	w := newWorld(t)
	left(w)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	known := func() (orphaned bool, kind string) {
		t.Helper()
		u, err := s.CopyOf(objectsync.Primary{NamespacedName: w.input.Object, Cluster: w.cluster}, w.copies(w.cluster))
		if err != nil || u == nil {
			t.Fatalf("want the copy found, got %v, %v", u, err)
		}
		return objectsync.IsOrphaned(u), u.GetAnnotations()[objectsync.AnnotationKind]
	}
	if orphaned, kind := known(); orphaned || kind != "" {
		t.Fatalf("want the copy as the agent has left it, got kind %q", kind)
	}
	if _, err := s.Abandon(t.Context(), w.input); err != nil {
		t.Fatal(err)
	}
	if orphaned, kind := known(); !orphaned || kind != "Thing.ws.example.com" {
		t.Errorf("want the copy marked and of kind Thing, got orphaned %t, kind %q", orphaned, kind)
	}
	above, below := w.writes(func() {
		if _, err := s.Abandon(t.Context(), w.input); err != nil {
			t.Fatal(err)
		}
	})
	if len(above)+len(below) > 0 {
		t.Errorf("requests for what is left behind already: %v %v", above, below)
	}
}
