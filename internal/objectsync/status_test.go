package objectsync_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// leaveFilter takes the labels off the object that a filter asks for.
func (m *manyRelated) leaveFilter() {
	m.above.set(things.Workspace.GroupVersionResource, "default", "web", map[string]any{}, "metadata", "labels")
}

// TestStatusWithoutCopy shows when the status of an object goes with that of its copy, and when it stays.
func TestStatusWithoutCopy(t *testing.T) {
	ready := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	served := &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{MatchLabels: map[string]string{"served": "yes"}}}
	type change = func(m *manyRelated, at types.NamespacedName)
	for name, tc := range map[string]struct {
		reason string
		pair   objectsync.Pair
		change change
		want   any
	}{
		"Deleted": {
			reason: "A new copy is not ready before its operator says so.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) { m.below.drop(things.Service.GroupVersionResource, at) },
		},
		"Emptied": {
			reason: "The copy has none any more.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) {
				u := m.below.get(things.Service.GroupVersionResource, at).DeepCopy()
				delete(u.Object, "status")
				m.below.put(things.Service.GroupVersionResource, u)
			},
		},
		"LeavesFilter": {
			reason: "It rests as it is.", pair: things, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.below.set(things.Service.GroupVersionResource, at.Namespace, at.Name, map[string]any{}, "status")
				m.leaveFilter()
			},
		},
		"LeavesFilterDeleted": {
			reason: "There is no copy any more.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.below.drop(things.Service.GroupVersionResource, at)
				m.leaveFilter()
			},
		},
		"NotShown": {
			reason: "The watch does not show a copy that has lost our labels.", pair: things, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.input.Service = through(m.input.Service, things.Service.GroupVersionResource,
					func(types.NamespacedName, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
						return nil, nil //nolint:nilnil // So is none told.
					})
			},
		},
		"NoSubresource": {
			reason: "It is content that goes down.", pair: plains, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) { m.below.drop(plains.Service.GroupVersionResource, at) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			m := &manyRelated{world: w, above: workspaceOf(w.input), below: below}
			s := w.syncerOf(tc.pair, &v1alpha1.PublishedResourceSpec{Filter: served})
			from, to := tc.pair.Workspace, tc.pair.Service.GroupVersionResource
			u := objectOf(from, w.input.Object, map[string]any{})
			u.SetLabels(map[string]string{"served": "yes"})
			m.above.put(from.GroupVersionResource, u)
			w.settle(s, m.input)
			at := types.NamespacedName{}
			for at = range below.all[to] {
				below.set(to, at.Namespace, at.Name, ready, "status")
			}
			if !from.Status {
				m.above.set(from.GroupVersionResource, "default", "web", ready, "status")
			}
			w.settle(s, m.input)
			tc.change(m, at)
			w.settle(s, m.input)
			got := m.above.get(from.GroupVersionResource, w.input.Object).Object["status"]
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
			want := map[string]any{"a": int64(2), "b": int64(2)}
			enter(w.input, map[string]any{"a": int64(1), "b": int64(1)})
			w.settle(s, w.input)
			backup := map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured{}
			for r, all := range below.all {
				backup[r] = maps.Clone(all)
			}
			enter(w.input, want)
			w.settle(s, w.input)
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
			w.settle(s, w.input)
			if diff := cmp.Diff(want, w.theCopy(w.cluster).Object["spec"]); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
