package objectsync_test

import (
	"slices"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const othersFinalizer = "example.org/other"

// TestOthersFinalizers shows that a finalizer which somebody adds while ours is put on an object or taken off it is not
// lost, although the list is written as a whole.
func TestOthersFinalizers(t *testing.T) {
	things, secret := things.Workspace.GroupVersionResource, objectsync.Secrets
	for name, tc := range map[string]struct {
		reason   string
		resource schema.GroupVersionResource
		name     string
		before   func(w *world, s *objectsync.Syncer)
	}{
		"Hold": {
			reason:   "It is put on an object.",
			resource: things,
			name:     "web",
			before:   func(*world, *objectsync.Syncer) {},
		},
		"LetGo": {
			reason:   "It is taken off an object that has left the filter.",
			resource: things,
			name:     "web",
			before:   (*world).leaveFilter,
		},
		"HoldRelated": {
			reason:   "It is put on a related object.",
			resource: secret,
			name:     "tls",
			before: func(w *world, s *objectsync.Syncer) {
				w.mustSync(s, w.input)
				w.patch(w.above, thing(w.input.Object), `{"spec":{"secretName":"tls"}}`)
			},
		},
		"LetGoRelated": {
			reason:   "It is taken off one that nobody refers to any more.",
			resource: secret,
			name:     "tls",
			before: func(w *world, s *objectsync.Syncer) {
				w.patch(w.above, thing(w.input.Object), `{"spec":{"secretName":"tls"}}`)
				w.mustSync(s, w.input)
				w.patch(w.above, thing(w.input.Object), `{"spec":{"secretName":null}}`)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.unlessLeft()
			tc.before(w, s)
			n := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: tc.name}
			in := w.input
			in.Workspace.Side = w.lately(in.Workspace.Side, tc.resource, n)
			u := w.held(tc.resource, n)
			all := append(u.GetFinalizers(), othersFinalizer)
			u.SetFinalizers(all)
			kube.Update(t, w.above, u)
			if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
				t.Errorf("%s Want a conflict, got %v", tc.reason, err)
			}
			if got := w.held(tc.resource, n).GetFinalizers(); !slices.Equal(got, all) {
				t.Errorf("%s Want %v as they were, got %v", tc.reason, all, got)
			}
			w.mustSync(s, w.input)
			if got := w.held(tc.resource, n).GetFinalizers(); !slices.Contains(got, othersFinalizer) || len(got) == len(all) {
				t.Errorf("%s After the next look want the other's, and ours as it is to be, got %v", tc.reason, got)
			}
		})
	}
}

// unlessLeft returns the syncer of things that have not left by a label, and creates one that names no Secret yet, and
// a Secret.
func (w *world) unlessLeft() *objectsync.Syncer {
	w.Helper()
	spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
	spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "left", Operator: metav1.LabelSelectorOpDoesNotExist},
		},
	}}
	w.create(w.above, thing(w.input.Object, set("secretName", nil)))
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	return w.syncer(spec)
}

func (w *world) leaveFilter(s *objectsync.Syncer) {
	w.Helper()
	w.mustSync(s, w.input)
	w.patch(w.above, thing(w.input.Object), `{"metadata":{"labels":{"left":"yes"}}}`)
}

// held reads an object of the workspace.
func (w *world) held(r schema.GroupVersionResource, n types.NamespacedName) *unstructured.Unstructured {
	w.Helper()
	u, err := w.input.Workspace.Cache(r).Get(n)
	if err != nil || u == nil {
		w.Fatalf("want %s, got %v", n, err)
	}
	return u
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
