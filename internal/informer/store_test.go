package informer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// A step is something that a store takes: an event of the stream, a bookmark, a list, the answer to a write of ours,
// one that has ended a resource, or that the server does not have a resource of a UID.
type step func(*store)

func told(name, rv string) step     { return func(s *store) { _ = s.Update(at(name, rv)) } }
func gone(name, rv string) step     { return func(s *store) { _ = s.Delete(at(name, rv)) } }
func bookmark(rv string) step       { return func(s *store) { _ = s.Bookmark(rv) } }
func answered(name, rv string) step { return func(s *store) { s.put(writer, at(name, rv)) } }
func ended(name, rv string) step {
	return func(s *store) { (&Table{stream: &stream{store: s}}).Drop(at(name, rv)) }
}

func missing(name string, uid types.UID) step {
	return func(s *store) {
		s.remove(types.NamespacedName{Name: name}, func(o *unstructured.Unstructured) bool { return o.GetUID() == uid })
	}
}

// listed takes a list of a version, with names and versions of resources.
func listed(rv string, resources ...string) step {
	return func(s *store) {
		var items []any
		for _, r := range resources {
			name, version, _ := strings.Cut(r, "@")
			items = append(items, at(name, version))
		}
		_ = s.Replace(items, rv)
	}
}

// testStore returns a store that holds resources as they are, and says who is woken.
func testStore(woken func(string)) *store {
	s := newStore()
	s.changed = func(n types.NamespacedName, by Owner) { woken(n.Name + by.Controller) }
	s.wentBack = func() { woken(fmt.Sprintf("went back from %v", s.names())) }
	s.listed = func(bool) {}
	return s
}

func TestStore(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		steps  []step
		want   string // name@version of what is held
		woken  string
	}{
		"ReadOwnWrite": {
			"The answer to a write is there at once and wakes all but the writer; its echo wakes nobody.",
			[]step{answered("a", "5"), told("a", "5")},
			"a@5", "a!",
		},
		"EchoBeforeAnswer": {
			"The echo of a write that overtakes its answer is all that is told.",
			[]step{told("a", "5"), answered("a", "5")},
			"a@5", "a",
		},
		"ChangeDuringWrite": {
			"A change by somebody else after our write and before its answer wakes.",
			[]step{told("a", "5"), told("a", "6"), answered("a", "5")},
			"a@6", "a,a",
		},
		"EndByAnswer": {
			"What a write of ours has ended is gone at once, and is told of; its echo wakes nobody.",
			[]step{told("a", "5"), ended("a", "6"), gone("a", "7")},
			"", "a,a",
		},
		"EndByRefusal": {
			"What the server says does not exist is gone at once, and is told of; its echo wakes nobody.",
			[]step{told("a", "5"), missing("a", ""), gone("a", "7")},
			"", "a,a",
		},
		"EndOfPredecessor": {
			"What has another UID is not what does not exist.", []step{told("a", "8"), missing("a", "of another")}, "a@8", "a",
		},
		"EndOfAnother": {
			"What has been made anew since is not what a write of ours has ended.",
			[]step{told("a", "8"), ended("a", "6")},
			"a@8", "a",
		},
		"LaterChange": {"A later change wakes.", []step{answered("a", "5"), told("a", "6")}, "a@6", "a,a!"},
		"StaleEvent": {
			"An event older than our write does not undo it.", []step{answered("a", "5"), told("a", "4")}, "a@5", "a!",
		},
		"StaleDelete": {
			"The deletion of the predecessor does not remove the successor we made.",
			[]step{answered("a", "5"), gone("a", "4")},
			"a@5", "a!",
		},
		"Delete": {"A deletion removes and wakes.", []step{told("a", "5"), gone("a", "6")}, "", "a,a"},
		"GhostOfDeleted": {
			"The answer to a write that arrives after the deletion of the resource does not bring it back.",
			[]step{told("a", "5"), gone("a", "6"), answered("a", "5")},
			"", "a,a",
		},
		"GhostOfListed": {
			"What a later list does not hold is gone, whatever an earlier write said.",
			[]step{listed("9"), answered("a", "5")},
			"", "",
		},
		"RelistKeepsLaterWrites": {
			"A list made before our write does not remove what we wrote.",
			[]step{answered("a", "9"), listed("7", "b@3")},
			"a@9 b@3", "a!,b",
		},
		"RelistWakesTheChanged": {
			"After a gap in the stream, only what changed meanwhile wakes.",
			[]step{listed("3", "same@1", "changed@2", "gone@3"), listed("9", "same@1", "changed@8", "new@9")},
			"changed@8 new@9 same@1", "changed,changed,gone,gone,new,same",
		},
		"RestoredList": {
			"A list older than what the stream has told before replaces all: the server has gone back in its history.",
			[]step{
				listed("3", "same@1", "undone@2", "deleted@3"), told("undone", "8"), gone("deleted", "9"), told("later", "10"),
				listed("5", "same@1", "undone@2", "deleted@3"),
			},
			"deleted@3 same@1 undone@2",
			"deleted,deleted,deleted,later,later,same,undone,undone,undone,went back from [/later /same /undone]",
		},
		"RestoredListDropsAnswers": {
			"What we wrote before the server went back in its history is undone, too.",
			[]step{listed("7", "a@3"), answered("a", "9"), answered("b", "10"), listed("5", "a@3")},
			"a@3", "a,a,a!,b,b!,went back from [/a /b]",
		},
		"AnswerOfAnotherHistory": {
			"The answer to a write that the stream passes without a word of it was undone before the stream told of it.",
			[]step{listed("5", "a@3"), answered("a", "7"), answered("b", "8"), bookmark("8")},
			"a@3", "a,a,a!,b,b!",
		},
		"AnswerPassedByAnEvent": {
			"Nor does the stream have to tell of it if it tells of another resource that is later.",
			[]step{listed("5", "a@3"), answered("a", "7"), told("b", "8")},
			"a@3 b@8", "a,a,a!,b",
		},
		"OlderEventUnderAnswer": {
			"What the stream told before our write is what is left when that turns out to be undone.",
			[]step{answered("a", "7"), told("a", "6"), bookmark("7")},
			"a@6", "a,a!",
		},
		"AgainWithLowerVersions": {
			"After it went back, the stream is believed by its present resource versions.",
			[]step{listed("9", "a@9"), listed("5", "a@3"), told("a", "6"), answered("a", "7"), gone("a", "8")},
			"", "a,a,a,a,a!,went back from [/a]",
		},
		"OpaqueVersions": {
			"Resource versions that are no numbers count as new each time.",
			[]step{told("a", "x"), told("a", "y")},
			"a@y",
			"a,a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var held, woken []string
			s := testStore(func(what string) { woken = append(woken, what) })
			for _, do := range tc.steps {
				do(s)
			}
			for _, o := range s.find("", "") {
				held = append(held, o.GetName()+"@"+o.GetResourceVersion())
			}
			slices.Sort(woken)
			if diff := cmp.Diff(tc.want, strings.Join(held, " ")); diff != "" {
				t.Errorf("%s\nheld: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.woken, strings.Join(woken, ",")); diff != "" {
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
	s.keep = nameOnly
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
	slices.Sort(woken)
	if diff := cmp.Diff([]string{"a", "a", "b", "z"}, woken); diff != "" {
		t.Errorf("woken: -want, +got:\n%s", diff)
	}
}

// TestMetadata shows what is held of a resource whose content is read when it is needed, and that a change of its
// content wakes.
func TestMetadata(t *testing.T) {
	entry := func(manager string) metav1.ManagedFieldsEntry { return metav1.ManagedFieldsEntry{Manager: manager} }
	of := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "b", UID: "u", ResourceVersion: version, Labels: map[string]string{"a": "b"},
			Finalizers: []string{"f"}, Annotations: map[string]string{annotationCluster: "c", domain + "d": "e", "note": "n"},
			ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl"), entry(domain + "related")},
		}}
	}
	want := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": "a", "name": "b", "uid": "u", "resourceVersion": "2", "labels": map[string]any{"a": "b"},
		"finalizers": []any{"f"}, "annotations": map[string]any{annotationCluster: "c", domain + "d": "e"},
		"managedFields": []any{map[string]any{"manager": domain + "related"}},
	}}}
	woken := 0
	s := testStore(func(string) { woken++ })
	s.keep = metadataOf
	_ = s.Add(of("1"))
	_ = s.Update(of("2"))
	if diff := cmp.Diff(want, s.get(types.NamespacedName{Namespace: "a", Name: "b"})); diff != "" || woken != 2 {
		t.Errorf("want it told of twice, got %d: -want, +got:\n%s", woken, diff)
	}
	all := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{*of("2")}}
	if _, err := byPages(func(context.Context, metav1.ListOptions) (runtime.Object, error) { return all, nil })(
		t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if is := all.Items[0]; len(is.ManagedFields) != 1 || len(is.Annotations) != 2 {
		t.Errorf("want a page without what is not held, got %v", is)
	}
}
