package applicationresource

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

func TestStateOf(t *testing.T) {
	const submitted = workloadv1alpha1.StateSubmitted
	noNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "web")
	last := func(s workloadv1alpha1.State, generation int64) workloadv1alpha1.KubernetesApplicationResourceStatus {
		st := workloadv1alpha1.KubernetesApplicationResourceStatus{State: s}
		st.ObservedGeneration = generation
		return st
	}
	for name, tc := range map[string]struct {
		reason string
		last   workloadv1alpha1.KubernetesApplicationResourceStatus
		pass   pass
		err    error
		change func(*workloadv1alpha1.KubernetesApplicationResource)
		want   workloadv1alpha1.State
	}{
		"Current": {
			reason: "What is as it is wanted is submitted.",
			pass:   pass{current: true, looked: true},
			want:   submitted,
		},
		"NoCluster": {
			reason: "Without a cluster it is pending.",
			change: func(r *workloadv1alpha1.KubernetesApplicationResource) { r.Spec.ClusterRef = nil },
			want:   workloadv1alpha1.StatePending,
		},
		"NoNamespace": {
			reason: "A missing namespace is waited for.",
			err:    errors.Wrap(noNamespace, "cannot create"),
			want:   workloadv1alpha1.StateScheduled,
		},
		"Refused": {
			reason: "What the cluster refuses has failed.",
			err:    apierrors.NewBadRequest("no"),
			want:   workloadv1alpha1.StateFailed,
		},
		"Conflict": {
			reason: "What another controller keeps has failed, though it was submitted once.",
			last:   last(submitted, 1),
			err:    errConflict,
			want:   workloadv1alpha1.StateFailed,
		},
		"Unreachable": {
			reason: "What was submitted stays so while nothing else is known.",
			last:   last(submitted, 1),
			err:    clusters.ErrUnreachable,
			want:   submitted,
		},
		"Changed": {
			reason: "What has changed since is not submitted as it is wanted now.",
			last:   last(submitted, 0),
			err:    clusters.ErrUnreachable,
			want:   workloadv1alpha1.StateScheduled,
		},
		"SecretGone": {
			reason: "A Secret that goes later does not undo the submission.",
			pass:   pass{current: true, looked: true},
			err:    errSecretMissing,
			want:   submitted,
		},
		"Deleted": {
			reason: "What is deleted is deleting, whatever happens.",
			err:    errConflict,
			change: func(r *workloadv1alpha1.KubernetesApplicationResource) {
				r.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
			},
			want: workloadv1alpha1.StateDeleting,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &workloadv1alpha1.KubernetesApplicationResource{}
			r.SetGeneration(1)
			r.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Name: "c"}
			if tc.change != nil {
				tc.change(r)
			}
			tc.pass.resource, tc.pass.before = r, r.DeepCopy()
			tc.pass.before.Status = tc.last
			if got := stateOf(&tc.pass, tc.err); got != tc.want {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestHealth shows that the health of a resource is that of what the cluster has, in progress without any, and stays as
// it was while nothing is known.
func TestHealth(t *testing.T) {
	const submitted = workloadv1alpha1.StateSubmitted
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "status": map[string]any{},
	}}
	for name, tc := range map[string]struct {
		last workloadv1alpha1.State
		pass pass
		err  error
		want string // the message
	}{
		"Live":    {last: submitted, pass: pass{looked: true, current: true, live: job}, want: "Job not started"},
		"Gone":    {last: submitted, pass: pass{looked: true}, want: messageNotSubmitted},
		"Refused": {last: submitted, pass: pass{looked: true, live: job}, err: errConflict, want: messageNotSubmitted},
		"Away":    {last: submitted, err: clusters.ErrUnreachable, want: "as it was"},
		"New":     {err: clusters.ErrUnreachable, want: messageNotSubmitted},
	} {
		t.Run(name, func(t *testing.T) {
			r := &resource{}
			r.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Name: "c"}
			r.Status.State = tc.last
			r.SetConditions(commonv1.Health(commonv1.ReasonProgressing, "as it was"))
			tc.pass.resource, tc.pass.before = r, r.DeepCopy()
			describe(&tc.pass, tc.err)
			if got := r.GetCondition(xpv2.TypeHealthy); got.Message != tc.want || got.Reason != commonv1.ReasonProgressing {
				t.Errorf("want %q, got %v", tc.want, got)
			}
		})
	}
}

// TestShowRemote shows that a status which does not fit is left out, that it stays so as long as it is no smaller, and
// that one which fits is shown.
func TestShowRemote(t *testing.T) {
	const fits, tooLarge = 1000, 2_000_000
	r := &workloadv1alpha1.KubernetesApplicationResource{}
	look := func(size int) {
		t.Helper()
		live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"a": strings.Repeat("x",
			size)}}}
		showRemote(&pass{resource: r, live: live})
	}
	check := func(reason string, shown bool) {
		t.Helper()
		if (r.Status.Remote != nil) != shown || (r.Status.OmittedBytes == 0) != shown {
			t.Errorf("%s\nwant shown %t, got %v, omittedBytes %d", reason, shown, r.Status.Remote != nil,
				r.Status.OmittedBytes)
		}
	}
	look(tooLarge)
	check("What cannot fit is left out.", false)
	look(fits)
	check("What fits is shown.", true)
	if !omit(r) || omit(r) {
		t.Error("want it left out, once")
	}
	look(fits)
	check("What the control plane has refused is not tried again.", false)
	look(fits / 2)
	check("What has shrunk is.", true)
}
