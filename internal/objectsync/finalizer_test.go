package objectsync_test

import (
	"slices"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOthersFinalizers shows that a finalizer which somebody adds while ours is put on an object, or taken off one that
// has left the filter, is not lost, although the list is written as a whole.
func TestOthersFinalizers(t *testing.T) {
	const other = "example.org/other"
	for name, leaves := range map[string]bool{"Hold": false, "LetGo": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(&v1alpha1.PublishedResourceSpec{Filter: &v1alpha1.ResourceFilter{
				Resource: &metav1.LabelSelector{MatchLabels: map[string]string{"sync": "yes"}},
			}})
			w.create(w.above, thing(w.input.Object, func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"sync": "yes"})
			}))
			if leaves {
				w.mustSync(s, w.input)
				w.patch(w.above, thing(w.input.Object), `{"metadata":{"labels":null}}`)
			}
			in := w.input
			in.Workspace.Side = w.lately(in.Workspace.Side, things.Workspace.GroupVersionResource, in.Object)
			u := w.source(w.input)
			all := append(u.GetFinalizers(), other)
			u.SetFinalizers(all)
			kube.Update(t, w.above, u)
			if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
				t.Errorf("want a conflict, got %v", err)
			}
			if got := w.source(w.input).GetFinalizers(); !slices.Equal(got, all) {
				t.Errorf("want %v as they were, got %v", all, got)
			}
			w.mustSync(s, w.input)
			if got := w.source(w.input).GetFinalizers(); !slices.Contains(got, other) || len(got) == len(all) {
				t.Errorf("after the next look want the other's, and ours as it is to be, got %v", got)
			}
		})
	}
}

// TestFinalizerIsTakenOff shows that nothing is made of an object that is not held, as it could go without a word, and
// what has been made of it would stay. If its workspace takes our finalizer off again, as a webhook may, that is a
// refusal: it rests, and the consumer is told.
func TestFinalizerIsTakenOff(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	failing, stripped := w.input, w.input
	failing.Workspace.Side = tap(failing.Workspace.Side, func(*write) error { return errBoom })
	stripped.Workspace.Side = tap(stripped.Workspace.Side, func(w *write) error {
		w.patch = []byte(`{}`)
		return w.send()
	})
	_, below := w.writes(func() {
		if _, err := s.Sync(t.Context(), failing); !errors.Is(err, errBoom) {
			t.Errorf("want %v, got %v", errBoom, err)
		}
		res, err := s.Sync(t.Context(), stripped)
		if r := objectsync.RefusalOf(err); r == nil || !r.Workspace || r.Cause != objectsync.RefusedByPolicy {
			t.Errorf("want a refusal of the workspace, got %v", err)
		}
		if len(res.Events) != 1 || res.Events[0].Reason != objectsync.ReasonRejected {
			t.Errorf("want the consumer told of the refusal alone, got %v", res.Events)
		}
	})
	if len(below) != 0 {
		t.Errorf("want nothing made below, got %v", below)
	}
	w.mustSync(s, w.input)
}
