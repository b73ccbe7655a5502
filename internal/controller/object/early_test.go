package object

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// TestEarlyHandler shows which Objects are remembered that are gone.
func TestEarlyHandler(t *testing.T) {
	const ours = managed.FinalizerName
	last := func(finalizers ...string) *mobjectv1alpha1.Object {
		o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "settings", Finalizers: finalizers,
		}}
		o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
		return o
	}
	leaving, paused, idle := last(ours), last(ours), last(ours)
	leaving.SetDeletionTimestamp(new(metav1.Now()))
	paused.SetAnnotations(map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	idle.SetManagementPolicies(nil)
	for name, tc := range map[string]struct {
		reason  string
		deleted event.DeleteEvent
		want    []string // finalizers of what is remembered, nil if nothing is
	}{
		"Early": {
			reason:  "It has our finalizer, and nobody has marked it as being deleted.",
			deleted: event.DeleteEvent{Object: last(ours, "example.org/theirs")},
			want:    []string{ours},
		},
		"WithoutFinalizer": {
			reason:  "There was nothing to keep it.",
			deleted: event.DeleteEvent{Object: last("example.org/theirs")},
		},
		"Deleted": {
			reason:  "The last state of an Object whose finalizer was removed still shows it, beside the mark.",
			deleted: event.DeleteEvent{Object: leaving},
		},
		"Paused": {
			reason:  "Nobody could resume it, and its name would never be free.",
			deleted: event.DeleteEvent{Object: paused},
		},
		"NoPolicies": {
			reason:  "Policies that allow nothing pause.",
			deleted: event.DeleteEvent{Object: idle},
		},
		"Unknown": {
			reason:  "The last state was not seen, so that its finalizer may have been removed.",
			deleted: event.DeleteEvent{Object: last(ours), DeleteStateUnknown: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &reconciler[*mobjectv1alpha1.Object]{}
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			c.earlyHandler().Delete(t.Context(), tc.deleted, q)
			known, there := c.early.Load(client.ObjectKeyFromObject(tc.deleted.Object))
			if want := tc.want != nil; there != want || q.Len() > 0 != want {
				t.Fatalf("%s\nwant it remembered and reconciled: %t, got %t and %d reconciles", tc.reason, want, there, q.Len())
			}
			if !there {
				return
			}
			o := known.(Object)
			if diff := cmp.Diff(tc.want, o.GetFinalizers()); diff != "" || o.GetDeletionTimestamp() == nil {
				t.Errorf("%s\nwant it as being deleted; finalizers: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
