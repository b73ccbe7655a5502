package readiness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// of returns a resource of a kind, such as apps/v1/Deployment, with more fields as JSON.
func of(t testing.TB, kind, fields string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := utiljson.Unmarshal([]byte(fields), &u.Object); err != nil {
		t.Fatal(err)
	}
	i := strings.LastIndex(kind, "/")
	u.SetAPIVersion(kind[:i])
	u.SetKind(kind[i+1:])
	return u
}

// TestHealthOf shows the health of resources, kind by kind.
func TestHealthOf(t *testing.T) {
	healthy := Health{Reason: commonv1.ReasonHealthy}
	exists := Health{commonv1.ReasonHealthy, "the resource exists, and has no status that reports its health"}
	progressing := func(m string) Health { return Health{commonv1.ReasonProgressing, m} }
	failed := func(m string) Health { return Health{commonv1.ReasonFailed, m} }
	unknown := func(f string) Health {
		return Health{commonv1.ReasonUnknown, "its health cannot be told: " + f + " is malformed"}
	}
	const (
		widget = "example.org/v1/Widget"
		// The same Deployment as its controller sees it on its way.
		deployment = `{"metadata":{"generation":2},"spec":{"replicas":3,"progressDeadlineSeconds":600},"status":{` +
			`"observedGeneration":2,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,"conditions":[` +
			`{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`
		set = `{"metadata":{"generation":1},"status":{"observedGeneration":1,"desiredNumberScheduled":2,` +
			`"currentNumberScheduled":2,"updatedNumberScheduled":2,"numberAvailable":2,"numberReady":2}}`
	)
	for name, tc := range map[string]struct {
		reason string
		kind   string
		fields string
		none   bool // the kind has no subresource status
		want   Health
	}{
		"Deployment": {kind: "apps/v1/Deployment", fields: deployment, want: healthy},
		"DeploymentNew": {
			reason: "Nothing is known before its controller has seen it.",
			kind:   "apps/v1/Deployment", fields: `{"metadata":{"generation":1},"spec":{"replicas":3},"status":{}}`,
			want: progressing("Replicas: 0/3"),
		},
		"DeploymentOfFormerSpec": {
			kind: "apps/v1/Deployment", fields: strings.Replace(deployment, `"generation":2`, `"generation":3`, 1),
			want: progressing("Deployment generation is 3, but latest observed generation is 2"),
		},
		"DeploymentPart": {
			kind:   "apps/v1/Deployment",
			fields: strings.Replace(deployment, `"availableReplicas":3`, `"availableReplicas":1`, 1),
			want:   progressing("Available: 1/3"),
		},
		"DeploymentDeadline": {
			kind: "apps/v1/Deployment",
			fields: strings.Replace(deployment, `"True","reason":"NewReplicaSetAvailable"`,
				`"False","reason":"ProgressDeadlineExceeded"`, 1),
			want: failed("Progress deadline exceeded"),
		},
		"StatefulSet": {
			kind: "apps/v1/StatefulSet", fields: `{"spec":{"replicas":2},"status":{"replicas":2,"readyReplicas":1}}`,
			want: progressing("Ready: 1/2"),
		},
		"StatefulSetOnDelete": {
			reason: "Who updates by hand is not waited for: documented.",
			kind:   "apps/v1/StatefulSet", fields: `{"spec":{"replicas":2,"updateStrategy":{"type":"OnDelete"}},"status":{}}`,
			want: healthy,
		},
		"DaemonSet": {kind: "apps/v1/DaemonSet", fields: set, want: healthy},
		"DaemonSetPart": {
			kind: "apps/v1/DaemonSet", fields: strings.Replace(set, `"numberReady":2`, `"numberReady":1`, 1),
			want: progressing("Ready: 1/2"),
		},
		"ReplicaSet": {
			kind: "apps/v1/ReplicaSet", fields: `{"spec":{"replicas":1},"status":{"replicas":1,"fullyLabeledReplicas":1}}`,
			want: progressing("Available: 0/1"),
		},
		"JobNew": {kind: "batch/v1/Job", fields: `{"status":{}}`, want: progressing("Job not started")},
		"JobStarted": {
			reason: "Correction: what has started is not complete.",
			kind:   "batch/v1/Job", fields: `{"status":{"startTime":"2026-01-01T00:00:00Z","active":1}}`,
			want: progressing("Job in progress. success:0, active: 1, failed: 0"),
		},
		"JobComplete": {
			kind:   "batch/v1/Job",
			fields: `{"status":{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Complete","status":"True"}]}}`,
			want:   healthy,
		},
		"JobSuspended": {
			reason: "Correction: nothing more is to come of what is suspended.",
			kind:   "batch/v1/Job",
			fields: `{"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want:   healthy,
		},
		"JobResumed": {
			reason: "A condition of before does not count.",
			kind:   "batch/v1/Job",
			fields: `{"spec":{"suspend":false},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want:   progressing("Job not started"),
		},
		"JobFailed": {
			kind:   "batch/v1/Job",
			fields: `{"status":{"failed":7,"conditions":[{"type":"Failed","status":"True"}]}}`,
			want:   failed("Job Failed. failed: 7/1"),
		},
		"CronJob": {
			reason: "It has no result: documented.",
			kind:   "batch/v1/CronJob", fields: `{"status":{}}`,
			want: healthy,
		},
		"PodReady": {
			kind: "v1/Pod", fields: `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
			want: healthy,
		},
		"PodPending": {
			kind: "v1/Pod", fields: `{"status":{"phase":"Pending"}}`,
			want: progressing("Pod is in the Pending phase"),
		},
		"PodSucceeded": {kind: "v1/Pod", fields: `{"status":{"phase":"Succeeded"}}`, want: healthy},
		"PodFailed": {
			reason: "Correction: what has failed has not completed.",
			kind:   "v1/Pod", fields: `{"status":{"phase":"Failed"}}`,
			want: failed("Pod has completed, but not successfully"),
		},
		"PodCrashes": {
			kind: "v1/Pod",
			fields: `{"status":{"phase":"Running","containerStatuses":[{"name":"c","state":{"waiting":` +
				`{"reason":"CrashLoopBackOff"}}}]}}`,
			want: failed("Containers in CrashLoop state: c"),
		},
		"PodMalformed": {
			reason: "kstatus panics here.",
			kind:   "v1/Pod", fields: `{"status":{"phase":"Running","containerStatuses":["` + password + `"]}}`,
			want: unknown("status"),
		},
		"PodOfUnknownPhase": {
			reason: "Nor is a value told.",
			kind:   "v1/Pod", fields: `{"status":{"phase":"` + password + `"}}`,
			want: unknown("status"),
		},
		"Service": {kind: "v1/Service", fields: `{"spec":{"type":"ClusterIP"},"status":{"loadBalancer":{}}}`, want: healthy},
		"LoadBalancer": {
			reason: "Correction: it needs an address.",
			kind:   "v1/Service",
			fields: `{"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"},"status":{"loadBalancer":{}}}`,
			want:   progressing("the load balancer has no address yet"),
		},
		"LoadBalancerWithAddress": {
			kind: "v1/Service",
			fields: `{"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"},"status":{"loadBalancer":{"ingress":[` +
				`{"ip":"192.0.2.1"}]}}}`,
			want: healthy,
		},
		"Claim":  {kind: "v1/PersistentVolumeClaim", fields: `{"status":{"phase":"Bound"}}`, want: healthy},
		"Secret": {kind: "v1/Secret", fields: `{}`, none: true, want: healthy},
		"Definition": {
			kind:   "apiextensions.k8s.io/v1/CustomResourceDefinition",
			fields: `{"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"}]}}`,
			want:   failed("taken"),
		},
		"Role": {
			reason: "A kind without a status has nothing to wait for.",
			kind:   "rbac.authorization.k8s.io/v1/Role", fields: `{}`, none: true,
			want: exists,
		},
		"NoStatusYet": {
			reason: "Correction: a kind with one has.",
			kind:   widget, fields: `{}`,
			want: progressing("the resource has no status yet"),
		},
		"NullStatus": {kind: widget, fields: `{"status":null}`, want: progressing("the resource has no status yet")},
		"OtherShape": {
			reason: "A status without conditions says nothing: documented.",
			kind:   widget, fields: `{"status":{"phase":"Pending"}}`,
			want: exists,
		},
		"Ready": {kind: widget, fields: `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, want: healthy},
		"ReadyOfFormerSpec": {
			reason: "A condition of a former spec says nothing about the present one.",
			kind:   widget,
			fields: `{"metadata":{"generation":2},"status":{"conditions":[{"type":"Ready","status":"True",` +
				`"observedGeneration":1}]}}`,
			want: progressing("The resource is at generation 2, but its status is of generation 1: its " +
				"controller has not processed the change yet"),
		},
		"GenerationAsText": {
			reason: "A generation counts as a text, too, as Argo Rollouts writes it.",
			kind:   widget, fields: `{"metadata":{"generation":2},"status":{"observedGeneration":"2"}}`,
			want: exists,
		},
		"FormerGenerationAsText": {
			kind: widget, fields: `{"metadata":{"generation":2},"status":{"observedGeneration":"1"}}`,
			want: progressing("Widget generation is 2, but latest observed generation is 1"),
		},
		"GenerationOfWords": {
			kind: widget, fields: `{"metadata":{"generation":2},"status":{"observedGeneration":"` + password + `"}}`,
			want: unknown("status"),
		},
		"NotReady": {
			kind: widget, fields: `{"status":{"conditions":[{"type":"Ready","status":"False","message":"creating"}]}}`,
			want: progressing("creating"),
		},
		"NotReadyWithoutMessage": {
			kind: widget, fields: `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Creating"}]}}`,
			want: progressing("Creating"),
		},
		"Stalled": {
			kind: widget, fields: `{"status":{"conditions":[{"type":"Stalled","status":"True","message":"no quota"}]}}`,
			want: failed("no quota"),
		},
		"MalformedConditions": {
			kind: widget, fields: `{"status":{"conditions":"` + password + `"}}`,
			want: unknown("status.conditions"),
		},
		"LeavingSomehow": {
			kind: widget, fields: `{"metadata":{"deletionTimestamp":"now"}}`,
			want: progressing("Resource scheduled for deletion"),
		},
		"Leaving": {
			kind: widget, fields: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a"]}}`,
			want: progressing("The resource is being deleted; finalizers: a"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, HealthOf(of(t, tc.kind, tc.fields), !tc.none)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDeriveFromHealth shows the verdicts of the policy.
func TestDeriveFromHealth(t *testing.T) {
	for fields, want := range map[string]Verdict{
		`{}`:                        {Message: "In progress: the resource has no status yet"},
		`{"status":{"phase":"Up"}}`: {Ready: true, Message: "the resource exists, and has no status that reports its health"},
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`:   {Ready: true},
		`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`:  {Message: "In progress"},
		`{"status":{"conditions":[{"type":"Stalled","status":"True"}]}}`: {Message: "Failed"},
		`{"status":{"conditions":1}}`: {
			Message: "its health cannot be told: status.conditions is malformed",
		},
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`: {Message: "The resource is being deleted"},
	} {
		got := Of(commonv1.Readiness{Policy: commonv1.ReadinessDeriveFromHealth},
			of(t, "example.org/v1/Widget", fields), true)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", fields, diff)
		}
	}
}

// FuzzHealth looks for resources that break out: by a panic, by a change, by a health that is none of ours, or by a
// value in a message about what cannot be told.
func FuzzHealth(f *testing.F) {
	for _, kind := range []string{
		"v1/Pod", "v1/Service", "batch/v1/Job", "apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet",
		"apiextensions.k8s.io/v1/CustomResourceDefinition", "example.org/v1/Widget",
	} {
		for _, fields := range []string{
			`{}`, `{"status":[]}`, `{"metadata":{"generation":"x"},"status":{"observedGeneration":1.5}}`,
			`{"metadata":{"deletionTimestamp":"x"}}`,
			`{"status":{"phase":"Running","containerStatuses":[{"name":1,"state":{"waiting":{"reason":[]}}}]}}`,
			`{"spec":{"suspend":1,"type":"LoadBalancer","clusterIP":"x"},"status":{"loadBalancer":{"ingress":1}}}`,
			`{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":"1"},7]}}`,
		} {
			b, err := json.Marshal(of(f, kind, fields).Object)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b), true)
		}
	}
	known := []xpv2.ConditionReason{commonv1.ReasonHealthy, commonv1.ReasonProgressing, commonv1.ReasonFailed}
	said := []string{
		"its health cannot be told: status is malformed", "its health cannot be told: status.conditions is malformed",
	}
	f.Fuzz(func(t *testing.T, resource string, hasStatus bool) {
		u := &unstructured.Unstructured{}
		if utiljson.Unmarshal([]byte(resource), &u.Object) != nil || u.Object == nil {
			return
		}
		before := runtime.DeepCopyJSON(u.Object)
		h := HealthOf(u, hasStatus)
		if diff := cmp.Diff(before, u.Object); diff != "" {
			t.Errorf("%s has changed:\n%s", resource, diff)
		}
		if !slices.Contains(known, h.Reason) && (h.Reason != commonv1.ReasonUnknown || !slices.Contains(said, h.Message)) {
			t.Errorf("%s is %v", resource, h)
		}
		if h.Verdict().Ready != (h.Reason == commonv1.ReasonHealthy) {
			t.Errorf("%s is ready, and is %v", resource, h)
		}
	})
}
