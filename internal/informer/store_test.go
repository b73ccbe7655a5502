package informer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func at(name, rv string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(name)
	u.SetResourceVersion(rv)
	return u
}

// writer is the owner whose writes the cases make. Who is woken shows as the name of the resource, and a ! if the
// writer is not.
var writer = Owner{Controller: "!"}

// put makes a write of ours, whose answer is u.
func put(s *store, u *unstructured.Unstructured) {
	s.begin(nameOf(u))
	s.end(nameOf(u), writer, u)
}

func TestStore(t *testing.T) {
	replace := func(s *store, rv string, list ...*unstructured.Unstructured) {
		items := make([]any, 0, len(list))
		for _, u := range list {
			items = append(items, u)
		}
		_ = s.Replace(items, rv)
	}
	for name, tc := range map[string]struct {
		reason string
		do     func(*store)
		want   map[string]string // resource version by name
		woken  []string
	}{
		"ReadOwnWrite": {
			reason: "The answer to a write is there at once and wakes all but the writer; its echo wakes nobody.",
			do: func(s *store) {
				put(s, at("a", "5"))
				_ = s.Add(at("a", "5"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a!"},
		},
		"EchoBeforeAnswer": {
			reason: "The echo of a write that overtakes its answer does not wake the writer.",
			do: func(s *store) {
				s.begin(types.NamespacedName{Name: "a"})
				_ = s.Add(at("a", "5"))
				s.end(types.NamespacedName{Name: "a"}, writer, at("a", "5"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a!"},
		},
		"ChangeDuringWrite": {
			reason: "A change by somebody else during our write wakes when the write is over.",
			do: func(s *store) {
				s.begin(types.NamespacedName{Name: "a"})
				_ = s.Add(at("a", "5"))
				_ = s.Update(at("a", "6"))
				s.end(types.NamespacedName{Name: "a"}, writer, at("a", "5"))
			},
			want: map[string]string{"a": "6"}, woken: []string{"a"},
		},
		"WriteThatChangesNothing": {
			reason: "A write that the server finds to change nothing wakes nobody.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				put(s, at("a", "5"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a"},
		},
		"EndByAnswer": {
			reason: "What a write of ours has ended is gone at once, and is told of; its echo wakes nobody.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				s.drop(at("a", "6"))
				_ = s.Delete(at("a", "7"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"EndByRefusal": {
			reason: "What the server says does not exist is gone at once, and is told of; its echo wakes nobody.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				s.remove(types.NamespacedName{Name: "a"}, "")
				_ = s.Delete(at("a", "7"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"EndOfPredecessor": {
			reason: "What has another UID is not what does not exist.",
			do: func(s *store) {
				_ = s.Add(at("a", "8"))
				s.remove(types.NamespacedName{Name: "a"}, "of another")
			},
			want: map[string]string{"a": "8"}, woken: []string{"a"},
		},
		"EndOfAnother": {
			reason: "What has been made anew since is not what a write of ours has ended.",
			do: func(s *store) {
				_ = s.Add(at("a", "8"))
				s.drop(at("a", "6"))
			},
			want: map[string]string{"a": "8"}, woken: []string{"a"},
		},
		"FailedWrite": {
			reason: "A change during a write that fails wakes.",
			do: func(s *store) {
				s.begin(types.NamespacedName{Name: "a"})
				_ = s.Add(at("a", "5"))
				s.end(types.NamespacedName{Name: "a"}, writer, nil)
			},
			want: map[string]string{"a": "5"}, woken: []string{"a"},
		},
		"LaterChange": {
			reason: "A later change wakes.",
			do: func(s *store) {
				put(s, at("a", "5"))
				_ = s.Update(at("a", "6"))
			},
			want: map[string]string{"a": "6"}, woken: []string{"a!", "a"},
		},
		"StaleEvent": {
			reason: "An event older than our write does not undo it.",
			do: func(s *store) {
				put(s, at("a", "5"))
				_ = s.Update(at("a", "4"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a!"},
		},
		"StaleDelete": {
			reason: "The deletion of the predecessor does not remove the successor we made.",
			do: func(s *store) {
				put(s, at("a", "5"))
				_ = s.Delete(at("a", "4"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a!"},
		},
		"Delete": {
			reason: "A deletion removes and wakes.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				_ = s.Delete(at("a", "6"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"GhostOfDeleted": {
			reason: "The answer to a write that arrives after the deletion of the resource does not bring it back.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				_ = s.Delete(at("a", "6"))
				put(s, at("a", "5"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"GhostOfListed": {
			reason: "What a later list does not hold is gone, whatever an earlier write said.",
			do: func(s *store) {
				replace(s, "9")
				put(s, at("a", "5"))
			},
			want: map[string]string{},
		},
		"RelistKeepsLaterWrites": {
			reason: "A list made before our write does not remove what we wrote.",
			do: func(s *store) {
				put(s, at("a", "9"))
				replace(s, "7", at("b", "3"))
			},
			want: map[string]string{"a": "9", "b": "3"}, woken: []string{"a!", "b"},
		},
		"RelistWakesTheChanged": {
			reason: "After a gap in the stream, only what changed meanwhile wakes.",
			do: func(s *store) {
				replace(s, "3", at("same", "1"), at("changed", "2"), at("gone", "3"))
				replace(s, "9", at("same", "1"), at("changed", "8"), at("new", "9"))
			},
			want:  map[string]string{"same": "1", "changed": "8", "new": "9"},
			woken: []string{"changed", "changed", "gone", "gone", "new", "same"},
		},
		"RestoredList": {
			reason: "A list older than what the stream has told before replaces all: the server has gone back in its history.",
			do: func(s *store) {
				replace(s, "3", at("same", "1"), at("undone", "2"), at("deleted", "3"))
				_ = s.Update(at("undone", "8"))
				_ = s.Delete(at("deleted", "9"))
				_ = s.Add(at("later", "10"))
				replace(s, "5", at("same", "1"), at("undone", "2"), at("deleted", "3"))
			},
			want: map[string]string{"same": "1", "undone": "2", "deleted": "3"},
			woken: []string{
				"deleted", "deleted", "deleted", "later", "later", "same", "undone", "undone", "undone", "went back",
			},
		},
		"RestoredListDropsAnswers": {
			reason: "What we wrote before the server went back in its history is undone, too.",
			do: func(s *store) {
				replace(s, "7", at("a", "3"))
				put(s, at("a", "9"))
				put(s, at("b", "10"))
				replace(s, "5", at("a", "3"))
			},
			want: map[string]string{"a": "3"}, woken: []string{"a", "a", "a!", "b", "b!", "went back"},
		},
		"RestoredDuringWrite": {
			reason: "The answer to a write that began before the server went back is not believed, and wakes its author, too.",
			do: func(s *store) {
				replace(s, "9", at("a", "3"))
				s.begin(types.NamespacedName{Name: "a"})
				replace(s, "5", at("a", "3"))
				s.end(types.NamespacedName{Name: "a"}, writer, at("a", "10"))
			},
			want: map[string]string{"a": "3"}, woken: []string{"a", "a", "went back"},
		},
		"AnswerOfAnotherHistory": {
			reason: "The answer to a write that the stream passes without a word of it was undone before the stream told of it.",
			do: func(s *store) {
				replace(s, "5", at("a", "3"))
				put(s, at("a", "7"))
				put(s, at("b", "8"))
				_ = s.Bookmark("8")
			},
			want: map[string]string{"a": "3"}, woken: []string{"a", "a", "a!", "b", "b!"},
		},
		"AnswerPassedByAnEvent": {
			reason: "Nor does the stream have to tell of it if it tells of another resource that is later.",
			do: func(s *store) {
				replace(s, "5", at("a", "3"))
				put(s, at("a", "7"))
				_ = s.Add(at("b", "8"))
			},
			want: map[string]string{"a": "3", "b": "8"}, woken: []string{"a", "a", "a!", "b"},
		},
		"OlderEventUnderAnswer": {
			reason: "What the stream told before our write is what is left when that turns out to be undone.",
			do: func(s *store) {
				put(s, at("a", "7"))
				_ = s.Update(at("a", "6"))
				_ = s.Bookmark("7")
			},
			want: map[string]string{"a": "6"}, woken: []string{"a", "a!"},
		},
		"AgainWithLowerVersions": {
			reason: "After it went back, the stream is believed by its present resource versions.",
			do: func(s *store) {
				replace(s, "9", at("a", "9"))
				replace(s, "5", at("a", "3"))
				_ = s.Update(at("a", "6"))
				put(s, at("a", "7"))
				_ = s.Delete(at("a", "8"))
			},
			want: map[string]string{}, woken: []string{"a", "a", "a", "a", "a!", "went back"},
		},
		"OpaqueVersions": {
			reason: "Resource versions that are no numbers count as new each time.",
			do: func(s *store) {
				_ = s.Add(at("a", "x"))
				_ = s.Update(at("a", "y"))
			},
			want: map[string]string{"a": "y"}, woken: []string{"a", "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var woken []string
			s := newStore(func(n types.NamespacedName, by Owner) { woken = append(woken, n.Name+by.Controller) },
				func() {},
				func() { woken = append(woken, "went back") })
			tc.do(s)
			got := map[string]string{}
			for n, u := range s.items {
				got[n.Name] = u.GetResourceVersion()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nitems: -want, +got:\n%s", tc.reason, diff)
			}
			less := func(a, b string) bool { return a < b }
			if diff := cmp.Diff(tc.woken, woken, cmpopts.SortSlices(less), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nwoken: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
