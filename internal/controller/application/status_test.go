package application

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// in returns a resource of a generation that was last seen in a state.
func in(state workloadv1alpha1.State, generation, observed int64) *resource {
	r := &resource{}
	r.SetGeneration(generation)
	r.Status.State, r.Status.ObservedGeneration = state, observed
	r.SetConditions(xpv2.ReconcileError(errors.New("no")))
	return r
}

// TestCount shows what an application says of its resources.
func TestCount(t *testing.T) {
	type want struct {
		submitted int
		state     workloadv1alpha1.State
		message   string
	}
	two := func(a, b *resource) map[string]*resource { return map[string]*resource{"a": a, "b": b} }
	submitted, wrong := in(workloadv1alpha1.StateSubmitted, 1, 1), in(workloadv1alpha1.StateFailed, 1, 1)
	for name, tc := range map[string]struct {
		held   map[string]*resource
		failed failures
		want   want
	}{
		"Nothing": {want: want{0, workloadv1alpha1.StateScheduled, "0 of 2 resources are submitted"}},
		"All": {
			held: two(submitted, in(workloadv1alpha1.StateSubmitted, 2, 2)),
			want: want{2, workloadv1alpha1.StateSubmitted, "2 of 2 resources are submitted"},
		},
		// What was submitted in an earlier generation does not count.
		"Stale": {
			held: two(submitted, in(workloadv1alpha1.StateSubmitted, 2, 1)),
			want: want{1, workloadv1alpha1.StatePartiallySubmitted, "1 of 2 resources are submitted"},
		},
		"OneFailed": {
			held: two(wrong, submitted),
			want: want{1, workloadv1alpha1.StatePartiallySubmitted, "1 of 2 resources are submitted: a failed: no"},
		},
		// Whether they were rendered or not.
		"AllFailed": {
			held: map[string]*resource{"a": wrong}, failed: failures{"b": errors.New("boom")},
			want: want{
				0, workloadv1alpha1.StateFailed, "0 of 2 resources are submitted: a failed: no; b cannot be rendered",
			},
		},
		// As long as one may still be submitted the application has not failed.
		"OneFailedOneWaits": {
			held: two(wrong, in(workloadv1alpha1.StateScheduled, 1, 1)),
			want: want{0, workloadv1alpha1.StateScheduled, "0 of 2 resources are submitted: a failed: no; b waits: no"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			templates := make([]template, 2)
			templates[0].Metadata.Name, templates[1].Metadata.Name = "b", "a"
			got := count(templates, tc.held, tc.failed)
			if diff := cmp.Diff(tc.want, want{got.submitted, got.state(), got.message()},
				cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestHealth shows that an application is healthy if all its resources are, and is else for the worst reason of theirs.
func TestHealth(t *testing.T) {
	is := func(reason xpv2.ConditionReason, message string) *resource {
		r := &resource{}
		r.SetConditions(commonv1.Health(reason, message))
		return r
	}
	healthy := is(commonv1.ReasonHealthy, "the resource exists, and has no status that reports its health")
	progressing, failed := is(commonv1.ReasonProgressing, "Ready: 1/3"), is(commonv1.ReasonFailed, "no quota")
	for name, tc := range map[string]struct {
		held []*resource // named a, b, …
		want xpv2.Condition
	}{
		"All": {held: []*resource{healthy, healthy}, want: commonv1.Health(commonv1.ReasonHealthy, "")},
		"OneUnknown": {
			held: []*resource{healthy, is(commonv1.ReasonUnknown, "malformed")},
			want: commonv1.Health(commonv1.ReasonUnknown, "b: malformed"),
		},
		// What nothing is known of is not taken for healthy.
		"None": {
			held: []*resource{healthy, {}},
			want: commonv1.Health(commonv1.ReasonUnknown, "b: its health is not known yet"),
		},
		"Worst": {
			held: []*resource{{}, progressing, healthy, failed},
			want: commonv1.Health(commonv1.ReasonFailed,
				"d: no quota; b: Ready: 1/3; a: its health is not known yet"),
		},
		"Many": {
			held: []*resource{progressing, progressing, progressing, progressing, progressing, progressing, failed},
			want: commonv1.Health(commonv1.ReasonFailed,
				"g: no quota; a: Ready: 1/3; b: Ready: 1/3; c: Ready: 1/3; d: Ready: 1/3 and 2 more"),
		},
		"Long": {
			held: []*resource{is(commonv1.ReasonFailed, strings.Repeat("x", 2*messageBytes))},
			want: commonv1.Health(commonv1.ReasonFailed, "a: "+strings.Repeat("x", messageBytes-3)+"…"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			templates, held := make([]template, len(tc.held)), map[string]*resource{}
			for i, r := range tc.held {
				templates[i].Metadata.Name = string(rune('a' + i))
				held[templates[i].Metadata.Name] = r
			}
			if diff := cmp.Diff(tc.want, health(templates, held),
				cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestRender(t *testing.T) {
	app := &application{}
	app.SetNamespace("ns")
	app.SetName("web")
	app.SetUID("uid")
	app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "c"}
	tmpl := template{}
	tmpl.Metadata.Name, tmpl.Metadata.Namespace = "r", "ignored"
	tmpl.Metadata.Labels = map[string]string{"a": "1", "b": "1"}
	tmpl.Spec.Template.Raw = []byte(`{"kind":"ConfigMap","data":{"x":"1"}}`)
	first := render(app, tmpl, nil)
	if first.GetNamespace() != "ns" {
		t.Errorf("the namespace of the template is ignored, got %q", first.GetNamespace())
	}
	if again := render(app, tmpl, first); !equality.Semantic.DeepEqual(first, again) {
		t.Errorf("what is rendered already stays as it is: %v", again)
	}
	theirs := first.DeepCopy()
	theirs.Labels["theirs"], theirs.Labels["b"] = "1", "changed"
	tmpl.Metadata.Labels = map[string]string{"b": "1"}
	second := render(app, tmpl, theirs)
	if diff := cmp.Diff(map[string]string{"b": "1", "theirs": "1"}, second.GetLabels()); diff != "" {
		t.Errorf("labels: -want, +got:\n%s", diff)
	}
	other := second.DeepCopy()
	other.Spec.Template.Metadata.Namespace = "elsewhere"
	if !isAnother(second, other) || isAnother(second, second.DeepCopy()) {
		t.Error("a resource of another namespace is another, and only that")
	}
}

// TestRank shows that the fewer applications a cluster has, the earlier it comes; that of equals those of the namespace
// come first, and that then the order is that of names.
func TestRank(t *testing.T) {
	own := func(name string, load int) candidate {
		return candidate{workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: name}, load}
	}
	shared := func(name string, load int) candidate {
		return candidate{workloadv1alpha1.ClusterReference{Kind: "ClusterProviderConfig", Name: name}, load}
	}
	got := []candidate{shared("c", 0), own("b", 1), shared("d", 1), shared("a", 1), own("a", 2), own("c", 1)}
	rank(got)
	want := []candidate{shared("c", 0), own("b", 1), own("c", 1), shared("a", 1), shared("d", 1), own("a", 2)}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(candidate{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
