package informer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
func put(s *store, u *unstructured.Unstructured) { s.put(writer, u) }

// testStore returns a store that holds resources as they are, and says who is woken.
func testStore(woken func(string)) *store {
	s := newStore()
	s.changed = func(n types.NamespacedName, by Owner) { woken(n.Name + by.Controller) }
	s.wentBack = func() { woken(fmt.Sprintf("went back from %v", s.names())) }
	s.listed = func(bool) {}
	s.full = func(error) { woken("full") }
	return s
}

// drop takes the answer to a write that has ended a resource.
func drop(s *store, u *unstructured.Unstructured) { (&Table{stream: &stream{store: s}}).Drop(u) }

func TestStore(t *testing.T) {
	a := types.NamespacedName{Name: "a"}
	uid := func(want types.UID) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return o.GetUID() == want }
	}
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
			reason: "The echo of a write that overtakes its answer is all that is told.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				put(s, at("a", "5"))
			},
			want: map[string]string{"a": "5"}, woken: []string{"a"},
		},
		"ChangeDuringWrite": {
			reason: "A change by somebody else after our write and before its answer wakes.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				_ = s.Update(at("a", "6"))
				put(s, at("a", "5"))
			},
			want: map[string]string{"a": "6"}, woken: []string{"a", "a"},
		},
		"EndByAnswer": {
			reason: "What a write of ours has ended is gone at once, and is told of; its echo wakes nobody.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				drop(s, at("a", "6"))
				_ = s.Delete(at("a", "7"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"EndByRefusal": {
			reason: "What the server says does not exist is gone at once, and is told of; its echo wakes nobody.",
			do: func(s *store) {
				_ = s.Add(at("a", "5"))
				s.remove(a, uid(""))
				_ = s.Delete(at("a", "7"))
			},
			want: map[string]string{}, woken: []string{"a", "a"},
		},
		"EndOfPredecessor": {
			reason: "What has another UID is not what does not exist.",
			do: func(s *store) {
				_ = s.Add(at("a", "8"))
				s.remove(a, uid("of another"))
			},
			want: map[string]string{"a": "8"}, woken: []string{"a"},
		},
		"EndOfAnother": {
			reason: "What has been made anew since is not what a write of ours has ended.",
			do: func(s *store) {
				_ = s.Add(at("a", "8"))
				drop(s, at("a", "6"))
			},
			want: map[string]string{"a": "8"}, woken: []string{"a"},
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
				"deleted", "deleted", "deleted", "later", "later", "same", "undone", "undone", "undone",
				"went back from [/later /same /undone]",
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
			want: map[string]string{"a": "3"}, woken: []string{"a", "a", "a!", "b", "b!", "went back from [/a /b]"},
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
			want: map[string]string{}, woken: []string{"a", "a", "a", "a", "a!", "went back from [/a]"},
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
			s := testStore(func(what string) { woken = append(woken, what) })
			tc.do(s)
			got := map[string]string{}
			for _, o := range s.find("", "") {
				got[o.GetName()] = o.GetResourceVersion()
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

// TestNames shows that of a selection only names are held, sorted, and that only a name that comes or goes wakes.
func TestNames(t *testing.T) {
	partial := func(namespace, name, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: version, Labels: map[string]string{"a": version},
		}}
	}
	var woken []string
	s := testStore(func(what string) { woken = append(woken, what) })
	_ = s.Replace([]any{partial("b", "a", "1"), partial("a", "z", "2")}, "2")
	_ = s.Add(partial("a", "b", "3"))
	_ = s.Update(partial("a", "z", "4"))
	_ = s.Delete(partial("b", "a", "5"))
	_ = s.Delete(partial("c", "none", "6"))
	_ = s.Replace([]any{partial("a", "b", "8"), partial("a", "z", "9")}, "9")
	want := []types.NamespacedName{{Namespace: "a", Name: "b"}, {Namespace: "a", Name: "z"}}
	if diff := cmp.Diff(want, s.names()); diff != "" {
		t.Errorf("names: -want, +got:\n%s", diff)
	}
	less := func(a, b string) bool { return a < b }
	if diff := cmp.Diff([]string{"a", "a", "b", "z"}, woken, cmpopts.SortSlices(less)); diff != "" {
		t.Errorf("woken: -want, +got:\n%s", diff)
	}
}

// TestQuota shows for what there is room: what replaces something counts in its place, what is gone does not count, and
// two streams share a budget.
func TestQuota(t *testing.T) {
	const room, large = 1 << 20, 400 << 10
	sized := func(name string, bytes int) *unstructured.Unstructured {
		u := at(name, "")
		u.Object["data"] = map[string]any{"a": strings.Repeat("a", bytes)}
		return u
	}
	b, fits := &budget{max: room}, true
	open := func() *store {
		s := testStore(func(what string) { fits = fits && what != "full" })
		s.room = b
		return s
	}
	one, other := open(), open()
	for _, tc := range []struct {
		what string
		do   func() error
		want bool
	}{
		{"first", func() error { return one.Add(sized("a", large)) }, true},
		{"second", func() error { return other.Add(sized("b", large)) }, true},
		{"third", func() error { return one.Add(sized("c", large)) }, false},
		{"changed", func() error { return one.Update(sized("a", large+10)) }, true},
		{"gone", func() error { return other.Delete(sized("b", 0)) }, true},
		{"in place of the second", func() error { return one.Add(sized("c", large)) }, true},
		{"too large a list", func() error { return other.Replace([]any{sized("d", large)}, "1") }, false},
		{"shorter list", func() error { return one.Replace([]any{sized("c", large)}, "1") }, true},
		{"a list", func() error { return other.Replace([]any{sized("d", large)}, "1") }, true},
		{"end of a stream", func() error { one.empty(); return nil }, true},
		{"all", func() error { return other.Replace([]any{sized("d", large), sized("e", large)}, "1") }, true},
	} {
		fits = true
		if err := tc.do(); fits != tc.want || err != nil && tc.want {
			t.Errorf("%s: want room %t, got %t: %v", tc.what, tc.want, fits, err)
		}
	}
	other.empty()
	if left := b.used.Load(); left != 0 {
		t.Errorf("after all are empty: want nothing in use, got %d bytes", left)
	}
}
