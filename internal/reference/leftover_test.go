package reference

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestNewest shows which of an answer and what a cache holds is taken for the state of a resource.
func TestNewest(t *testing.T) {
	state := func(uid types.UID, version string, finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version, Finalizers: finalizers}
	}
	for name, tc := range map[string]struct {
		reason string
		answer metav1.ObjectMeta
		age    time.Duration
		cached metav1.ObjectMeta
		want   []string
		kept   bool
	}{
		"Behind": {
			reason: "A cache that lags behind is not believed.",
			answer: state("1", "7", "ours"), cached: state("1", "5"), want: []string{"ours"}, kept: true,
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
			reason: "An answer about another resource tells nothing.", answer: state("1", "7", "ours"),
			cached: state("2", "5"),
		},
		"Restored": {
			reason: "An old answer is from a history that may be gone.",
			answer: state("1", "7", "ours"), age: 2 * leftoverMost, cached: state("1", "5"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(nil, nil)
			at := location{NamespacedName: types.NamespacedName{Name: "a"}}
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetName(tc.answer.Name)
			u.SetUID(tc.answer.UID)
			u.SetResourceVersion(tc.answer.ResourceVersion)
			u.SetFinalizers(tc.answer.Finalizers)
			e.leave(at, u)
			l := e.left[at]
			l.since = l.since.Add(-tc.age)
			e.left[at] = l
			got := e.newest(at, &tc.cached)
			if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if _, kept := e.left[at]; kept != tc.kept {
				t.Errorf("%s The answer is kept: want %t, got %t", tc.reason, tc.kept, kept)
			}
		})
	}
}

// TestLeftoversAreForgotten shows that an answer about a resource that nobody asks about again is not kept.
func TestLeftoversAreForgotten(t *testing.T) {
	e := newEditor(nil, nil)
	old := location{NamespacedName: types.NamespacedName{Name: "old"}}
	e.left[old] = leftover{Object: &metav1.ObjectMeta{}, since: time.Now().Add(-2 * leftoverMost)}
	e.leave(location{NamespacedName: types.NamespacedName{Name: "new"}},
		&unstructured.Unstructured{Object: map[string]any{}})
	if _, kept := e.left[old]; kept || len(e.left) != 1 {
		t.Errorf("want only the new answer, got %v", e.left)
	}
}
