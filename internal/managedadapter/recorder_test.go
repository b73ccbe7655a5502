package managedadapter

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// conditioned is an object with conditions.
type conditioned struct {
	corev1.ConfigMap
	xpv2.ConditionedStatus
}

// heard is a recorder that keeps the reasons of events.
type heard struct{ reasons *[]event.Reason }

func (h heard) Event(_ runtime.Object, e event.Event)      { *h.reasons = append(*h.reasons, e.Reason) }
func (h heard) WithAnnotations(_ ...string) event.Recorder { return h }
func withConditions(c ...xpv2.Condition) *conditioned {
	return &conditioned{ConditionedStatus: *xpv2.NewConditionedStatus(c...)}
}

func metadata(annotations map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

func TestRecorder(t *testing.T) {
	errBoom := errors.New("boom")
	for name, tc := range map[string]struct {
		reason string
		obj    runtime.Object
		event  event.Event
		want   []event.Reason
	}{
		"NewFailure": {
			reason: "A new failure is told.",
			obj:    withConditions(xpv2.ReconcileSuccess()),
			event:  event.Warning("X", errBoom),
			want:   []event.Reason{"X"},
		},
		"SameFailure": {
			reason: "A failure the condition tells already is not.",
			obj:    withConditions(xpv2.ReconcileError(errors.Wrap(errBoom, "observe failed"))),
			event:  event.Warning("X", errBoom),
		},
		"OtherFailure": {
			reason: "Another failure is told.",
			obj:    withConditions(xpv2.ReconcileError(errors.New("crash"))),
			event:  event.Warning("X", errBoom),
			want:   []event.Reason{"X"},
		},
		"StillMissing": {
			reason: "Nor is what is missing, at each look.",
			obj:    withConditions(xpv2.ReconcileError(errors.New("may not create: " + MessageMissing))),
			event:  event.Warning("X", errors.New(MessageMissing)),
		},
		"FirstDeletion": {
			reason: "The first request to delete is told.",
			obj:    withConditions(xpv2.Available(), xpv2.ReconcileSuccess()),
			event:  event.Normal(reasonDeleted, "d"),
			want:   []event.Reason{reasonDeleted},
		},
		"AgainDeletion": {
			reason: "Its repetition is not.",
			obj:    withConditions(xpv2.Deleting(), xpv2.ReconcileSuccess()),
			event:  event.Normal(reasonDeleted, "d"),
		},
		"FirstPause": {
			reason: "A pause is told.",
			obj:    withConditions(),
			event:  event.Normal(reasonPaused, "p"),
			want:   []event.Reason{reasonPaused},
		},
		"StillPaused": {
			reason: "Its duration is not.",
			obj:    withConditions(xpv2.ReconcilePaused()),
			event:  event.Normal(reasonPaused, "p"),
		},
		"Creation": {
			reason: "Each other change is told.",
			obj:    withConditions(xpv2.ReconcileSuccess()),
			event:  event.Normal("Created", "c"),
			want:   []event.Reason{"Created"},
		},
		"NotConditioned": {
			reason: "Objects without conditions are told of everything.",
			obj:    &corev1.ConfigMap{},
			event:  event.Warning("X", errBoom),
			want:   []event.Reason{"X"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []event.Reason
			r := NewRecorder(heard{reasons: &got})
			// crossplane-runtime records through the recorder that this returns.
			r.WithAnnotations("external-name", "x").Event(tc.obj, tc.event)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRecorderLimitsRoutineEvents(t *testing.T) {
	const all = 10 * routineBurst
	var got []event.Reason
	r := NewRecorder(heard{reasons: &got})
	count := func(r Recorder) (routine, others int) {
		got = nil
		for range all {
			r.WithAnnotations("a", "b").Event(withConditions(), event.Normal("CreatedExternalResource", "n"))
			r.WithAnnotations("a", "b").Event(withConditions(), event.Normal("RecreatingResource", "n"))
			r.WithAnnotations("a", "b").Event(withConditions(), event.Warning("CannotCreateExternalResource", errors.New("w")))
		}
		for _, reason := range got {
			if reason == "CreatedExternalResource" {
				routine++
			}
		}
		return routine, len(got) - routine
	}
	if n, w := count(r); n != all || w != 2*all {
		t.Errorf("Without a limit all are recorded: want %d and %d, got %d and %d", all, 2*all, n, w)
	}
	limited := r.Limited(func(_ runtime.Object, e event.Event) bool { return e.Reason == "Dropped" })
	n, w := count(limited)
	if w != 2*all {
		t.Errorf("Warnings, and what is told once, are not limited: want %d, got %d", 2*all, w)
	}
	if n < routineBurst || n > 2*routineBurst {
		t.Errorf("Routine events are limited to about %d at once, got %d", routineBurst, n)
	}
	if limited.Event(withConditions(), event.Warning("Dropped", errors.New("w"))); len(got) != n+w {
		t.Error("What is to be dropped is recorded")
	}
}

// TestFailingAreCounted shows which resources count as failing: those with a condition that is False, unless they are
// paused, and none that has not been looked at.
func TestFailingAreCounted(t *testing.T) {
	failed := xpv2.ReconcileError(errors.New("no"))
	m, kind := statemetrics.NewMRStateMetrics(), "kubernetes.m.crossplane.io/v1alpha1, Kind=Object"
	var all []Conditioned
	for _, conditions := range [][]xpv2.Condition{
		nil,
		{xpv2.ReconcileSuccess(), xpv2.Available()},
		{xpv2.ReconcileSuccess(), xpv2.Unavailable()},
		{failed, xpv2.Available()},
		{failed, xpv2.Unavailable()},
		{failed},
		{xpv2.ReconcilePaused(), xpv2.Unavailable()},
		{xpv2.ReconcilePaused()},
	} {
		o := &mobjectv1alpha1.Object{}
		o.SetConditions(conditions...)
		all = append(all, o)
	}
	count := func() map[string]float64 {
		tally(m, kind, all, true)
		return map[string]float64{
			"exists": testutil.ToFloat64(m.Exists), "ready": testutil.ToFloat64(m.Ready), "synced": testutil.ToFloat64(m.Synced),
			"not synced": testutil.ToFloat64(failing.WithLabelValues(kind, "Synced")),
			"not ready":  testutil.ToFloat64(failing.WithLabelValues(kind, "Ready")),
		}
	}
	want := map[string]float64{"exists": 8, "ready": 2, "synced": 2, "not synced": 3, "not ready": 2}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	app := &workloadv1alpha1.KubernetesApplication{}
	app.SetConditions(failed)
	tally(m, "KubernetesApplication", []Conditioned{app}, false)
	if got := testutil.ToFloat64(failing.WithLabelValues("KubernetesApplication", "Synced")); got != 1 {
		t.Errorf("want the application counted as failing, got %v", got)
	}
	if got := testutil.CollectAndCount(m.Exists); got != 1 {
		t.Errorf("want no application among the managed resources, got %d kinds", got)
	}
	all = nil
	want = map[string]float64{"exists": 0, "ready": 0, "synced": 0, "not synced": 0, "not ready": 0}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("when all are gone: -want, +got:\n%s", diff)
	}
}
