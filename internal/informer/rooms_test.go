package informer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// secretOf returns a Secret of a logical cluster with so much in it.
func secretOf(cluster, name, version string, bytes int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"key": strings.Repeat("x", bytes)},
	}}
	u.SetNamespace("default")
	u.SetName(name)
	u.SetResourceVersion(version)
	u.SetLabels(map[string]string{"name": name})
	u.SetAnnotations(map[string]string{annotationCluster: cluster, "note": "n"})
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	return u
}

// TestRooms shows which resources of a logical cluster are held with their content: all of them while there is little,
// then those that have been read, and never more than there is room for.
func TestRooms(t *testing.T) {
	const mega = 1 << 20
	var woken []string
	s := testStore(func(n string) { woken = append(woken, n) })
	s.name, s.rooms = nameInCluster, rooms{}
	table := &Table{stream: &stream{store: s}}
	add := func(u *unstructured.Unstructured) { _ = s.Update(u) }
	put := func(u *unstructured.Unstructured) {
		u.SetManagedFields(nil)
		table.Put(u)
	}
	whole := func() (out []string) {
		for _, u := range s.find("", "") {
			if u.GetManagedFields() != nil {
				t.Errorf("the managed fields of %s are held", u.GetName())
			}
			if isWhole(u) {
				out = append(out, u.GetAnnotations()[annotationCluster]+u.GetName())
			}
		}
		return out
	}
	for _, step := range []struct {
		reason string
		do     func()
		want   []string
		woken  []string
	}{
		{
			reason: "Of one that has much, the content is held of as much as all have room for. Others have room of their own.",
			do: func() {
				for i := range 6 {
					add(secretOf("a", strconv.Itoa(i), "1", mega))
				}
				add(secretOf("b", "0", "1", mega))
			},
			want: []string{"a0", "a1", "a2", "b0"}, woken: []string{"0", "1", "2", "3", "4", "5", "0"},
		},
		{
			reason: "What is trimmed is followed.",
			do:     func() { add(secretOf("a", "5", "2", mega)) },
			want:   []string{"a0", "a1", "a2", "b0"}, woken: []string{"5"},
		},
		{
			reason: "What is read is in use from then on, and that is no change.",
			do:     func() { put(secretOf("a", "5", "2", mega)) },
			want:   []string{"a0", "a1", "a2", "a5", "b0"},
		},
		{
			reason: "An older state that was read is not taken for the one that is told.",
			do:     func() { put(secretOf("a", "4", "0", mega)) },
			want:   []string{"a0", "a1", "a2", "a5", "b0"},
		},
		{
			reason: "What is in use comes with its changes.",
			do:     func() { add(secretOf("a", "5", "3", 2*mega)) },
			want:   []string{"a0", "a1", "a2", "a5", "b0"}, woken: []string{"5"},
		},
		{
			reason: "Not even what is in use has more room than there is.",
			do:     func() { add(secretOf("a", "5", "4", 20*mega)) },
			want:   []string{"a0", "a1", "a2", "b0"}, woken: []string{"5"},
		},
		{
			reason: "What is written is in use.",
			do:     func() { put(secretOf("a", "4", "9", mega)) },
			want:   []string{"a0", "a1", "a2", "a4", "b0"}, woken: []string{"4"},
		},
		{
			reason: "A list holds what it finds held.",
			do: func() {
				_ = s.Replace([]any{
					secretOf("a", "0", "1", mega), trim(secretOf("a", "3", "1", mega)), secretOf("a", "4", "9", mega),
					secretOf("b", "0", "1", mega),
				}, "9")
			},
			want: []string{"a0", "a4", "b0"}, woken: []string{"1", "2", "5"},
		},
		{
			reason: "What is gone leaves room.",
			do: func() {
				for _, u := range s.find("", "") {
					_ = s.Delete(u)
				}
			},
			woken: []string{"0", "3", "4", "0"},
		},
	} {
		woken = nil
		step.do()
		if diff := cmp.Diff(step.want, whole()); diff != "" {
			t.Errorf("%s held: -want, +got:\n%s", step.reason, diff)
		}
		sortable := strings.Join(woken, "")
		for _, n := range step.woken {
			sortable = strings.Replace(sortable, n, "", 1)
		}
		if sortable != "" || len(step.woken) != len(woken) {
			t.Errorf("%s want told of %v, got %v", step.reason, step.woken, woken)
		}
	}
	if len(s.rooms) != 0 {
		t.Errorf("it still counts %v", s.rooms)
	}
}

// TestTrimmed shows what is held of a resource without its content, and that one whose labels are too many to be held
// may be what any selector means.
func TestTrimmed(t *testing.T) {
	u := secretOf("a", "one", "1", 1)
	few := trim(u)
	want := map[string]any{"metadata": map[string]any{
		"namespace": "default", "name": "one", "resourceVersion": "1", "labels": map[string]any{"name": "one"},
		"annotations": map[string]any{annotationCluster: "a"},
	}}
	if diff := cmp.Diff(want, few.Object); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	many := map[string]string{}
	for i := range 1000 {
		many[fmt.Sprint("label-", i)] = ""
	}
	u.SetLabels(many)
	crowded := trim(u)
	u.SetLabels(nil)
	none := trim(u)
	is, other := labels.SelectorFromSet(labels.Set{"name": "one"}), labels.SelectorFromSet(labels.Set{"name": "two"})
	got := []bool{
		mayMatch(is, few), mayMatch(other, few), mayMatch(is, none), mayMatch(other, crowded),
	}
	if diff := cmp.Diff([]bool{true, false, false, true}, got); diff != "" {
		t.Errorf("selected: -want, +got:\n%s", diff)
	}
	if len(crowded.GetLabels()) > 0 || IsTrimmed(u) || IsTrimmed(nil) || !IsTrimmed(crowded) {
		t.Error("want labels not held, and what is trimmed told from what is not")
	}
}
