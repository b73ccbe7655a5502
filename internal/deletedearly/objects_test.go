package deletedearly

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const ours = "example.org/ours"

// configMap returns an object of a UID with a value of its data, which stands for its status, and finalizers.
func configMap(uid types.UID, value string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", UID: uid, Finalizers: finalizers},
		Data:       map[string]string{"value": value},
	}
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

func TestObjects(t *testing.T) {
	type args struct {
		missed, missedAfter client.Object   // what a write could not find, before and after the deletion
		deleted             client.Object   // the last state that the event of the deletion tells
		writes              []client.Object // what the reconciler writes after that
	}
	type want struct {
		lost   bool
		value  string // of what is shown
		queued int
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"Lost": {
			reason: "It has our finalizer, and nobody has marked it as being deleted.",
			args:   args{deleted: configMap("1", "last", ours, "example.org/theirs")},
			want:   want{lost: true, value: "last"},
		},
		"WithoutFinalizer": {
			reason: "There was nothing to keep it.",
			args:   args{deleted: configMap("1", "last", "example.org/theirs")},
		},
		"Finished": {
			reason: "Of an object whose finalizers were removed while it was being deleted, the last state still shows them.",
			args:   args{deleted: leaving(configMap("1", "last", ours))},
		},
		"Paused": {
			reason: "Nobody could let it go on, and its name would never be free.",
			args:   args{deleted: paused(configMap("1", "last", ours))},
		},
		"MissedBefore": {
			reason: "What a pass could not write is shown.",
			args:   args{missed: configMap("1", "done", ours), deleted: configMap("1", "last", ours)},
			want:   want{lost: true, value: "done"},
		},
		"MissedAfter": {
			reason: "It is shown, too, if the event comes first.",
			args:   args{missedAfter: configMap("1", "done", ours), deleted: configMap("1", "last", ours)},
			want:   want{lost: true, value: "done"},
		},
		"MissedOther": {
			reason: "What was written about an object that had the name before tells nothing of this one.",
			args:   args{missed: configMap("0", "done", ours), deleted: configMap("1", "last", ours)},
			want:   want{lost: true, value: "last"},
		},
		"MissedAndStripped": {
			reason: "That a write has missed it does not make it lost: somebody has taken the finalizer off.",
			args:   args{missed: configMap("1", "done", ours), deleted: leaving(configMap("1", "last", ours))},
		},
		"Written": {
			reason: "The reconciler sees what it has written.",
			args: args{
				deleted: configMap("1", "last", ours), writes: []client.Object{leaving(configMap("1", "less", ours))},
			},
			want: want{lost: true, value: "less"},
		},
		"Released": {
			reason: "Without the finalizer it is finished with, and the object that has its name now has its turn.",
			args: args{
				deleted: configMap("1", "last", ours), writes: []client.Object{leaving(configMap("1", "last"))},
			},
			want: want{queued: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjects(ours)
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			if tc.args.missed != nil {
				s.missed(tc.args.missed)
			}
			s.add(tc.args.deleted, q)
			if tc.args.missedAfter != nil {
				s.missed(tc.args.missedAfter)
			}
			for _, o := range tc.args.writes {
				if !s.written(o) {
					t.Errorf("%s\na write about it must not reach the server", tc.reason)
				}
			}
			got := want{queued: q.Len()}
			if cm, ok := s.get(client.ObjectKeyFromObject(tc.args.deleted)).(*corev1.ConfigMap); ok {
				got.lost, got.value = cm.DeletionTimestamp != nil, cm.Data["value"]
				if diff := cmp.Diff([]string{ours}, cm.Finalizers); diff != "" {
					t.Errorf("%s\nfinalizers: -want, +got:\n%s", tc.reason, diff)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if s.written(configMap("2", "namesake")) {
				t.Errorf("%s\na write about an object that has the name now must reach the server", tc.reason)
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
		"Plain": {
			reason: "An object without policies goes by its annotation alone.",
			o:      configMap("1", "last"),
			want:   false,
		},
		"Annotation": {reason: "The annotation pauses any object.", o: paused(configMap("1", "last")), want: true},
		"Policies": {
			reason: "Policies that allow something do not pause.",
			o:      &policed{policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve}},
			want:   false,
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
