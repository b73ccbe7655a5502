package managedadapter

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestFinalizerReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		before, after []string
		deleted       bool
		want          bool
	}{
		"Released": {
			reason:  "A deleted object that loses a finalizer may go on.",
			before:  []string{"a", "b"},
			after:   []string{"a"},
			deleted: true,
			want:    true,
		},
		"Unchanged": {
			reason:  "Other changes of it do not matter.",
			before:  []string{"a"},
			after:   []string{"a"},
			deleted: true,
			want:    false,
		},
		"NotDeleted": {
			reason:  "Nor do finalizers of an object that stays.",
			before:  []string{"a", "b"},
			after:   []string{"a"},
			deleted: false,
			want:    false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := metadata(nil), metadata(nil)
			before.SetFinalizers(tc.before)
			after.SetFinalizers(tc.after)
			if tc.deleted {
				after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			if got := FinalizerReleased().Update(event.UpdateEvent{
				ObjectOld: before, ObjectNew: after,
			}); got != tc.want {
				t.Errorf("%s\nFinalizerReleased: want %t, got %t", tc.reason, tc.want, got)
			}
			if FinalizerReleased().Create(event.CreateEvent{Object: after}) {
				t.Error("creations are for others to let pass")
			}
		})
	}
}

// TestWentBackIsDesired shows that an object that is older than it was has changed, whatever its generation is.
func TestWentBackIsDesired(t *testing.T) {
	for version, want := range map[string]bool{"8": true, "9": false, "10": false} {
		before, after := metadata(nil), metadata(nil)
		before.SetResourceVersion("9")
		after.SetResourceVersion(version)
		if got := DesiredStateChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != want {
			t.Errorf("from version 9 to %s: want %t, got %t", version, want, got)
		}
	}
}
