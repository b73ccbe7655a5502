package readiness

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// with returns a resource with conditions: types and statuses in turn.
func with(conditions ...string) *unstructured.Unstructured {
	list := []any{}
	for i := 0; i+1 < len(conditions); i += 2 {
		list = append(list, map[string]any{"type": conditions[i], "status": conditions[i+1]})
	}
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": list}}}
}

// at returns a resource of a generation whose status is of another one.
func at(u *unstructured.Unstructured, generation, observed int64) *unstructured.Unstructured {
	u.SetGeneration(generation)
	u.Object["status"].(map[string]any)["observedGeneration"] = observed
	return u
}

// asText returns a resource whose status has its generation as a text.
func asText(u *unstructured.Unstructured) *unstructured.Unstructured {
	status := u.Object["status"].(map[string]any)
	status["observedGeneration"] = fmt.Sprint(status["observedGeneration"])
	return u
}

// each returns a resource of a generation whose conditions are of others.
func each(u *unstructured.Unstructured, generation int64, observed ...int64) *unstructured.Unstructured {
	u.SetGeneration(generation)
	for i, c := range u.Object["status"].(map[string]any)["conditions"].([]any) {
		c.(map[string]any)["observedGeneration"] = observed[i]
	}
	return u
}

// leaving returns a resource that is being deleted.
func leaving(u *unstructured.Unstructured) *unstructured.Unstructured {
	now, grace := metav1.Now(), int64(30)
	u.SetDeletionTimestamp(&now)
	u.SetDeletionGracePeriodSeconds(&grace)
	u.SetFinalizers([]string{"b", "a"})
	return u
}

func TestOf(t *testing.T) {
	stale := Verdict{Message: "The resource is at generation 2, but its status is of generation 1: its " +
		"controller has not processed the change yet"}
	for name, tc := range map[string]struct {
		reason string
		policy commonv1.ReadinessPolicy
		query  string
		u      *unstructured.Unstructured
		want   Verdict
	}{
		"Leaving": {
			reason: "Existing is not enough for what is being deleted.",
			u:      leaving(with()),
			want:   Verdict{Message: "The resource is being deleted; finalizers: a, b; it has a grace period of 30 s"},
		},
		"LeavingReady": {
			reason: "Nor is condition Ready.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      leaving(with("Ready", "True")),
			want:   Verdict{Message: "The resource is being deleted; finalizers: a, b; it has a grace period of 30 s"},
		},
		"LeavingQuery": {
			reason: "Nor is a query that is true. One that nothing is known to hold is being deleted all the same.",
			policy: commonv1.ReadinessDeriveFromCelQuery,
			query:  "true",
			u: &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"},
			}},
			want: Verdict{Message: "The resource is being deleted"},
		},
		"Default": {reason: "Without a policy, existing is enough.", u: with(), want: Verdict{Ready: true}},
		"DefaultWithQuery": {
			reason: "A query without a policy counts.",
			query:  "false",
			u:      with(),
			want:   Verdict{Message: "The CEL query is false"},
		},
		"QueryBesidePolicy": {
			reason: "A policy that does not look at the query says so.",
			policy: commonv1.ReadinessSuccessfulCreate,
			query:  "false",
			u:      with(),
			want: Verdict{Ready: true, Message: "celQuery is ignored, because policy is SuccessfulCreate: set policy to " +
				"DeriveFromCelQuery"},
		},
		"SuccessfulCreate": {
			reason: "Existing is enough.",
			policy: commonv1.ReadinessSuccessfulCreate,
			u:      with("Ready", "False"),
			want:   Verdict{Ready: true},
		},
		"ReadyTrue": {
			reason: "Condition Ready counts.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      with("Other", "False", "Ready", "True"),
			want:   Verdict{Ready: true},
		},
		"ReadyUnknown": {
			reason: "Unknown is not True.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      with("Ready", "Unknown"),
			want:   Verdict{Message: "Condition Ready of the resource is Unknown"},
		},
		"NoReady": {
			reason: "Without condition Ready it is not ready.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      with("Other", "True"),
			want:   Verdict{Message: "The resource has no condition Ready"},
		},
		"AllTrue": {
			reason: "All conditions are True.",
			policy: commonv1.ReadinessAllTrue,
			u:      with("A", "True", "B", "True"),
			want:   Verdict{Ready: true},
		},
		"NotAllTrue": {
			reason: "The others are named in order.",
			policy: commonv1.ReadinessAllTrue,
			u:      with("C", "False", "A", "True", "B", "Unknown"),
			want:   Verdict{Message: "Conditions of the resource are not True: B, C"},
		},
		"ReadyOfFormerSpec": {
			reason: "A condition of a former spec says nothing about the present one.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      at(with("Ready", "True"), 2, 1),
			want:   stale,
		},
		"AllTrueOfFormerSpec": {
			reason: "Nor do several.",
			policy: commonv1.ReadinessAllTrue,
			u:      at(with("A", "True", "B", "True"), 2, 1),
			want:   stale,
		},
		"GenerationAsText": {
			reason: "A generation counts as a text, too, as Argo Rollouts writes it.",
			policy: commonv1.ReadinessAllTrue,
			u:      asText(at(with("A", "True", "B", "True"), 2, 1)),
			want:   stale,
		},
		"CaughtUp": {
			reason: "What the whole status has observed counts, whatever a condition was last written for.",
			policy: commonv1.ReadinessAllTrue,
			u:      at(each(with("A", "True", "B", "True"), 2, 1, 2), 2, 2),
			want:   Verdict{Ready: true},
		},
		"ConditionOfFormerSpec": {
			reason: "Where the status does not tell, its conditions do.",
			policy: commonv1.ReadinessAllTrue,
			u:      each(with("A", "True", "B", "True"), 2, 2, 1),
			want:   stale,
		},
		"OtherOfFormerSpec": {
			reason: "Only those that count do.",
			policy: commonv1.ReadinessDeriveFromObject,
			u:      each(with("Ready", "True", "Other", "True"), 2, 2, 1),
			want:   Verdict{Ready: true},
		},
		"CreatedOfFormerSpec": {
			reason: "Existing is enough still.",
			policy: commonv1.ReadinessSuccessfulCreate,
			u:      at(with(), 2, 1),
			want:   Verdict{Ready: true},
		},
		"NoConditions": {
			reason: "None is not all.",
			policy: commonv1.ReadinessAllTrue,
			u:      with(),
			want:   Verdict{Message: "The resource has no conditions"},
		},
		"MalformedIsNoList": {
			reason: "Conditions of a strange shape are none.",
			policy: commonv1.ReadinessAllTrue,
			u:      &unstructured.Unstructured{Object: map[string]any{"status": "x"}},
			want:   Verdict{Message: "The resource has no conditions"},
		},
		"QueryTrue": {
			reason: "A query that is true is enough.",
			policy: commonv1.ReadinessDeriveFromCelQuery,
			query:  `object.status.conditions[0].status == "False"`,
			u:      with("Ready", "False"),
			want:   Verdict{Ready: true},
		},
		"QueryFalse": {
			reason: "A query that is false is not.",
			policy: commonv1.ReadinessDeriveFromCelQuery,
			query:  `object.status.conditions.all(c, c.status == "True")`,
			u:      with("Ready", "False"),
			want:   Verdict{Message: "The CEL query is false"},
		},
		"QueryFails": {
			reason: "A query without an answer is not, and says why.",
			policy: commonv1.ReadinessDeriveFromCelQuery,
			query:  "object.status.phase == 'Running'",
			u:      with(),
			want:   Verdict{Message: "CEL query fails: at 1:14: no such key: phase"},
		},
		"NoQuery": {
			reason: "An empty query is invalid.",
			policy: commonv1.ReadinessDeriveFromCelQuery,
			u:      with(),
			want:   Verdict{Message: "CEL query is invalid: the expression is empty"},
		},
		"Unknown": {
			reason: "Other policies do not exist.", policy: "Maybe", u: with(),
			want: Verdict{Message: `readiness policy "Maybe" is unknown`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(commonv1.Readiness{Policy: tc.policy, CelQuery: tc.query}, tc.u, false)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDeletionBlockers shows what is said of a resource that is being deleted.
func TestDeletionBlockers(t *testing.T) {
	const deleted = `"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"`
	for name, tc := range map[string]struct{ live, want string }{
		"Stays":   {live: `{"kind":"ConfigMap","metadata":{"finalizers":["a"]}}`},
		"Unknown": {live: `{"kind":"ConfigMap",` + deleted + `}}`},
		"Grace": {
			live: `{"kind":"Pod",` + deleted + `,"deletionGracePeriodSeconds":30},` +
				`"status":{"conditions":[{"type":"Ready","status":"True","message":"ready"}]}}`,
			want: "it has a grace period of 30 s",
		},
		"NoGrace": {
			live: `{"kind":"ConfigMap",` + deleted + `,"deletionGracePeriodSeconds":0,"finalizers":["a"]}}`,
			want: "finalizers: a",
		},
		"Definition": {
			live: `{"kind":"CustomResourceDefinition",` + deleted + `,"finalizers":["cleanup"]},"status":{"conditions":[` +
				`{"type":"Established","status":"True","message":"the initial names have been accepted"},` +
				`{"type":"Terminating","status":"True","message":"CustomResource deletion is in progress"}]}}`,
			want: "finalizers: cleanup; Terminating: CustomResource deletion is in progress",
		},
		"Namespace": {
			live: `{"apiVersion":"v1","kind":"Namespace",` + deleted + `,"finalizers":["a"]},` +
				`"spec":{"finalizers":["kubernetes"]},"status":{"conditions":[{"type":"D","status":"True","message":"e."},` +
				`{"type":"B","status":"True","message":"c"},{"type":"F","status":"False","message":"g"}]}}`,
			want: "finalizers: a; B: c; D: e",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON([]byte(tc.live)); err != nil {
				t.Fatal(err)
			}
			if got := DeletionBlockers(u); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
