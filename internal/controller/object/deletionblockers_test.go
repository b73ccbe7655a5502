package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRemains shows what is said of a resource that is being deleted.
func TestRemains(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		live   string
		want   string
	}{
		"Stays": {reason: "Nothing of one that stays.", live: `{"kind":"ConfigMap","metadata":{"finalizers":["a"]}}`},
		"Nothing": {
			reason: "Nothing if nothing is known.",
			live:   `{"kind":"ConfigMap","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}}`,
		},
		"Grace": {
			reason: "A Pod may take its time.", want: "it has a grace period of 30 s",
			live: `{"kind":"Pod","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":30},` +
				`"status":{"conditions":[{"type":"Ready","status":"True","message":"ready"}]}}`,
		},
		"NoGrace": {
			reason: "None is left in most cases.", want: "finalizers: a",
			live: `{"kind":"ConfigMap","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":0,` +
				`"finalizers":["a"]}}`,
		},
		"Definition": {
			reason: "A CustomResourceDefinition says what it does.",
			want:   "finalizers: cleanup; Terminating: CustomResource deletion is in progress",
			live: `{"kind":"CustomResourceDefinition","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z",` +
				`"finalizers":["cleanup"]},` +
				`"status":{"conditions":[{"type":"Established","status":"True","message":"the initial names have been accepted"},` +
				`{"type":"Terminating","status":"True","message":"CustomResource deletion is in progress"}]}}`,
		},
		"Namespace": {
			reason: "The finalizers of a Namespace are in two places.", want: "finalizers: a, kubernetes; B: c; D: e",
			live: `{"apiVersion":"v1","kind":"Namespace","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z",` +
				`"finalizers":["a"]},` +
				`"spec":{"finalizers":["kubernetes"]},"status":{"conditions":[{"type":"D","status":"True","message":"e."},` +
				`{"type":"B","status":"True","message":"c"},{"type":"F","status":"False","message":"g"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{}
			if err := decode([]byte(tc.live), &live.Object); err != nil {
				t.Fatal(err)
			}
			if got := deletionBlockers(live); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
