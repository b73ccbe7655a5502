package managedadapter

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestDesiredStateChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		before, after []string // finalizers
		version       string   // after 9
		deleted       bool
		want          bool
	}{
		"Released": {
			reason: "A deleted object that loses a finalizer may go on.",
			before: []string{"a", "b"}, after: []string{"a"}, version: "10", deleted: true, want: true,
		},
		"Unchanged": {
			reason: "Other changes of it do not matter.",
			before: []string{"a"}, after: []string{"a"}, version: "10", deleted: true,
		},
		"NotDeleted": {
			reason: "Nor do finalizers of an object that stays.",
			before: []string{"a", "b"}, after: []string{"a"}, version: "10",
		},
		"WentBack": {reason: "What is older than it was has changed, whatever its generation is.", version: "8", want: true},
		"Resync":   {reason: "What is as old has not.", version: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := metadata(nil), metadata(nil)
			before.SetFinalizers(tc.before)
			before.SetResourceVersion("9")
			after.SetFinalizers(tc.after)
			after.SetResourceVersion(tc.version)
			if tc.deleted {
				after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			if got := DesiredStateChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
