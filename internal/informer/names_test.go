package informer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func partial(namespace, name, rv string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, ResourceVersion: rv,
	}}
}

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(*names)
		want   []types.NamespacedName
		woken  int
	}{
		"Sorted": {
			reason: "Names are sorted by namespace and then by name; each new one wakes.",
			do: func(s *names) {
				_ = s.Add(partial("b", "a", "1"))
				_ = s.Add(partial("a", "z", "2"))
				s.sorted()
				_ = s.Add(partial("a", "b", "3"))
			},
			want: []types.NamespacedName{
				{Namespace: "a", Name: "b"}, {Namespace: "a", Name: "z"}, {Namespace: "b", Name: "a"},
			},
			woken: 3,
		},
		"ChangeOfResource": {
			reason: "A change of a resource that stays selected wakes nobody.",
			do: func(s *names) {
				_ = s.Add(partial("a", "b", "1"))
				_ = s.Update(partial("a", "b", "2"))
			},
			want: []types.NamespacedName{{Namespace: "a", Name: "b"}}, woken: 1,
		},
		"Delete": {
			reason: "A name that goes wakes, and one that was not there does not.",
			do: func(s *names) {
				_ = s.Add(partial("a", "b", "1"))
				_ = s.Delete(partial("a", "b", "2"))
				_ = s.Delete(partial("a", "c", "3"))
			},
			woken: 2,
		},
		"SameList": {
			reason: "A list of the same names wakes nobody.",
			do: func(s *names) {
				_ = s.Replace([]any{partial("a", "b", "1")}, "1")
				_ = s.Replace([]any{partial("a", "b", "9")}, "9")
			},
			want: []types.NamespacedName{{Namespace: "a", Name: "b"}}, woken: 1,
		},
		"OtherList": {
			reason: "A list of as many other names wakes.",
			do: func(s *names) {
				_ = s.Replace([]any{partial("a", "b", "1")}, "1")
				_ = s.Replace([]any{partial("a", "c", "9")}, "9")
			},
			want: []types.NamespacedName{{Namespace: "a", Name: "c"}}, woken: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			woken := 0
			s := newNames(func() { woken++ }, func() {}, func() {})
			tc.do(s)
			if diff := cmp.Diff(tc.want, s.sorted(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nsorted: -want, +got:\n%s", tc.reason, diff)
			}
			if woken != tc.woken {
				t.Errorf("%s\nwoken: want %d times, got %d", tc.reason, tc.woken, woken)
			}
		})
	}
}
