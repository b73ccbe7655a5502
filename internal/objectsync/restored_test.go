package objectsync_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestServiceRestored shows that a copy gets what it lacks after the service cluster was restored, whichever of copies
// and states is still shown as it was before: until both are shown as they are, nothing counts as synced.
func TestServiceRestored(t *testing.T) {
	copies := things.Service.GroupVersionResource
	for name, tc := range map[string]struct {
		reason  string
		late    schema.GroupVersionResource
		changed bool // by the consumer meanwhile
	}{
		"StatesFirst":        {reason: "The copy is said to have it all.", late: copies},
		"StatesFirstChanged": {reason: "Or all but the last.", late: copies, changed: true},
		"CopiesFirstChanged": {
			reason: "All but the last is said to be copied.", late: objectsync.Secrets,
			changed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			s := w.syncer(&v1alpha1.PublishedResourceSpec{})
			resync := func() {
				t.Helper()
				if err := w.resync(s, w.input); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string]any{"a": int64(2), "b": int64(2)}
			enter(w.input, map[string]any{"a": int64(1), "b": int64(1)})
			resync()
			backup := map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured{}
			for r, all := range below.all {
				backup[r] = maps.Clone(all)
			}
			enter(w.input, want)
			resync()
			was := maps.Clone(below.all[tc.late])
			below.all = backup
			if tc.changed {
				want = map[string]any{"a": int64(2), "b": int64(3)}
				enter(w.input, want)
			}
			late := w.input
			late.Service = through(late.Service, tc.late,
				func(n types.NamespacedName, _ *unstructured.Unstructured) (*unstructured.Unstructured, error) {
					return was[n], nil
				})
			if _, err := s.Sync(t.Context(), late); !apierrors.IsConflict(err) {
				t.Errorf("%s Want a conflict, got %v", tc.reason, err)
			}
			resync()
			if diff := cmp.Diff(want, w.theCopy(w.cluster).Object["spec"]); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
