package deletedearly

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const ours = "example.org/ours"

// configMap returns an object with finalizers.
func configMap(finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "settings", Finalizers: finalizers,
	}}
}

// leaving returns it as it is while it is being deleted.
func leaving(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm.DeletionTimestamp = new(metav1.Now())
	return cm
}

// paused returns it as one that reconcilers are to leave alone.
func paused(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	return cm
}

func TestHandler(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		deleted event.DeleteEvent
		want    []string // finalizers of what is remembered, nil if nothing is
	}{
		"Early": {
			reason:  "It has our finalizer, and nobody has marked it as being deleted.",
			deleted: event.DeleteEvent{Object: configMap(ours, "example.org/theirs")},
			want:    []string{ours},
		},
		"WithoutFinalizer": {
			reason:  "There was nothing to keep it.",
			deleted: event.DeleteEvent{Object: configMap("example.org/theirs")},
		},
		"Deleted": {
			reason:  "The last state of an object whose finalizer was removed still shows it, beside the mark.",
			deleted: event.DeleteEvent{Object: leaving(configMap(ours))},
		},
		"Paused": {
			reason:  "Nobody could resume it, and its name would never be free.",
			deleted: event.DeleteEvent{Object: paused(configMap(ours))},
		},
		"Unknown": {
			reason:  "The last state was not seen, so that its finalizer may have been removed.",
			deleted: event.DeleteEvent{Object: configMap(ours), DeleteStateUnknown: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewObjects[*corev1.ConfigMap](ours)
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			s.Handler().Delete(t.Context(), tc.deleted, q)
			key := client.ObjectKeyFromObject(tc.deleted.Object)
			o, there := s.Get(key)
			if want := tc.want != nil; there != want || q.Len() > 0 != want {
				t.Fatalf("%s\nwant it remembered and reconciled: %t, got %t and %d reconciles", tc.reason, want, there, q.Len())
			}
			if !there {
				return
			}
			if diff := cmp.Diff(tc.want, o.GetFinalizers()); diff != "" || o.GetDeletionTimestamp() == nil {
				t.Errorf("%s\nwant it as being deleted; finalizers: -want, +got:\n%s", tc.reason, diff)
			}
			s.Finished(key)
			if _, there := s.Get(key); there {
				t.Errorf("%s\nwant it forgotten", tc.reason)
			}
		})
	}
}

// A policed object has management policies.
type policed struct {
	corev1.ConfigMap

	policies xpv2.ManagementPolicies
}

func (o *policed) GetManagementPolicies() xpv2.ManagementPolicies { return o.policies }

func TestIsPaused(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		o      client.Object
		want   bool
	}{
		"Plain":      {reason: "An object without policies goes by its annotation alone.", o: configMap()},
		"Annotation": {reason: "The annotation pauses any object.", o: paused(configMap()), want: true},
		"Policies": {
			reason: "Policies that allow something do not pause.",
			o:      &policed{policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve}},
		},
		"NoPolicies": {
			reason: "Policies that allow nothing pause.",
			o:      &policed{policies: xpv2.ManagementPolicies{}},
			want:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isPaused(tc.o); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
