package reference

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestNewest shows which of an answer and what a cache holds is taken for the state of a resource.
func TestNewest(t *testing.T) {
	state := func(uid types.UID, version string, finalizers ...string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version, Finalizers: finalizers}
	}
	for name, tc := range map[string]struct {
		reason string
		answer *metav1.ObjectMeta
		age    time.Duration
		cached *metav1.ObjectMeta
		want   []string
		gone   bool
	}{
		"Behind": {
			reason: "A cache that lags behind is not believed.",
			answer: state("1", "7", "ours"), cached: state("1", "5"), want: []string{"ours"},
		},
		"CaughtUp": {
			reason: "One that has caught up is.", answer: state("1", "7", "ours"), cached: state("1", "7", "ours"),
			want: []string{"ours"},
		},
		"Ahead": {
			reason: "So is one that knows more.", answer: state("1", "7", "ours"), cached: state("1", "9", "other"),
			want: []string{"other"},
		},
		"Namesake": {
			reason: "A namesake tells that the resource is gone.", cached: state("2", "5", "other"), gone: true,
		},
		"Gone": {
			reason: "What the server does not have any more is gone, whatever a cache shows.",
			answer: gone(), cached: state("1", "5", "ours"), gone: true,
		},
		"Restored": {
			reason: "An old answer is from a history that may be gone.",
			answer: state("1", "7", "ours"), age: 2 * answerMost, cached: state("1", "5"),
		},
		"Uncached": {reason: "An answer is enough.", answer: state("1", "7", "ours"), want: []string{"ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Now())
			e := newEditor(nil)
			e.answers = cache.NewExpiringWithClock(clock)
			at := resource{uid: "1"}
			if tc.answer != nil {
				e.answers.Set(at, tc.answer, answerMost)
			}
			clock.Step(tc.age)
			var known metav1.Object
			if tc.cached != nil {
				known = tc.cached
			}
			got := e.newest(at, known)
			if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" || tc.gone != (got.GetDeletionTimestamp() != nil) {
				t.Errorf("%s\ngone: %t, -want, +got:\n%s", tc.reason, got.GetDeletionTimestamp() != nil, diff)
			}
		})
	}
	if got := newEditor(nil).newest(resource{}, nil); got != nil {
		t.Errorf("want nothing known of a resource that nobody has seen, got %v", got)
	}
}
