package informer

import (
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// state returns a state of a resource.
func state(uid, version, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "metadata": map[string]any{"uid": uid, "resourceVersion": version},
		"data": map[string]any{"a": value},
	}}
}

// TestIntern shows what is shared: what is equal in every value, and nothing else, whatever a server calls it.
func TestIntern(t *testing.T) {
	other := state("a", "1", "x")
	other.SetAPIVersion("v2")
	cases := map[string]struct {
		reason string
		held   *unstructured.Unstructured
		state  *unstructured.Unstructured
		shared bool
	}{
		"Equal":      {"Two users see the same.", state("a", "1", "x"), state("a", "1", "x"), true},
		"Changed":    {"A later state is another.", state("a", "1", "x"), state("a", "2", "x"), false},
		"Successor":  {"A resource of another UID is another.", state("a", "1", "x"), state("b", "1", "x"), false},
		"Forged":     {"A name is not proof.", state("a", "1", "x"), state("a", "1", "y"), false},
		"APIVersion": {"A kind is served in several versions.", state("a", "1", "x"), other, false},
		"NoUID":      {"What no API server has made is not shared.", state("", "1", "x"), state("", "1", "x"), false},
		"NoVersion":  {"What has no version is not shared.", state("a", "", "x"), state("a", "", "x"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := NewInterner()
			if got := i.intern(tc.held); got != tc.held {
				t.Error("what is new is held itself")
			}
			got := i.intern(tc.state)
			if shared := got == tc.held; shared != tc.shared {
				t.Errorf("%s Want shared %t, got %t", tc.reason, tc.shared, shared)
			}
			if got != tc.held && got != tc.state {
				t.Error("want one of the two")
			}
			runtime.KeepAlive(tc.held)
		})
	}
	if u := state("a", "1", "x"); (*Interner)(nil).intern(u) != u {
		t.Error("without an Interner nothing is shared")
	}
}

// TestInternerForgets shows that what nobody holds any more is forgotten, and that it may come again.
func TestInternerForgets(t *testing.T) {
	i := NewInterner()
	kept := i.intern(state("kept", "1", "x"))
	for range 100 {
		i.intern(state("gone", "1", "x"))
	}
	known := func() int {
		runtime.GC()
		i.mu.Lock()
		defer i.mu.Unlock()
		return len(i.states)
	}
	kube.Eventually(t, "what is gone to be forgotten", func() (bool, string) { return known() == 1, "not yet" })
	if i.intern(state("kept", "1", "x")) != kept {
		t.Error("what is held is still shared")
	}
	again := i.intern(state("gone", "1", "x"))
	if i.intern(state("gone", "1", "x")) != again {
		t.Error("what has come again is shared")
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(again)
}
