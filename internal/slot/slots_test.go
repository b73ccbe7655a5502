package slot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOf shows in which slots ProviderConfigs are: the same in all versions of this program.
func TestOf(t *testing.T) {
	got := map[string]int{}
	for _, key := range []string{
		"", "ProviderConfig.kubernetes.crossplane.io//a", "ProviderConfig.kubernetes.m.crossplane.io/ns/a",
		"ClusterProviderConfig.kubernetes.m.crossplane.io//a",
	} {
		got[key] = New(64).Of(key)
	}
	want := map[string]int{
		"": 0, "ProviderConfig.kubernetes.crossplane.io//a": 39, "ProviderConfig.kubernetes.m.crossplane.io/ns/a": 43,
		"ClusterProviderConfig.kubernetes.m.crossplane.io//a": 8,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slots: -want, +got:\n%s", diff)
	}
}

func TestOwns(t *testing.T) {
	two := New(2)
	if two.Responsible("") || two.Responsible("a") {
		t.Error("a replica without a Lease owns nothing")
	}
	two.mine.Store(int32(two.Of("a")))
	if !two.Responsible("a") {
		t.Error("a replica owns what is in its slot")
	}
	if one := New(1); one != nil || !one.Responsible("a") {
		t.Errorf("one slot: want all of it owned, got %v", one)
	}
}

func TestNumberOf(t *testing.T) {
	l := NewLock(New(3), Options{ID: "team-a"})
	for name, want := range map[string]int{
		"team-a": 1, "team-a-3-0": 3, "team-a-12-7": 12, "team-a-3": 0, "team-a-3-0-1": 0, "team-a-b": 0, "team-b-3-0": 0,
		"team": 0, "team-a-03-0": 0, "team-a--3-0": 0, "": 0,
	} {
		if got := l.numberOf(name); got != want {
			t.Errorf("slots of Lease %q: want %d, got %d", name, want, got)
		}
	}
}
