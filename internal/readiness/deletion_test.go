package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
		// Its finalizers are in two places.
		"Namespace": {
			live: `{"apiVersion":"v1","kind":"Namespace",` + deleted + `,"finalizers":["a"]},` +
				`"spec":{"finalizers":["kubernetes"]},"status":{"conditions":[{"type":"D","status":"True","message":"e."},` +
				`{"type":"B","status":"True","message":"c"},{"type":"F","status":"False","message":"g"}]}}`,
			want: "finalizers: a, kubernetes; B: c; D: e",
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
