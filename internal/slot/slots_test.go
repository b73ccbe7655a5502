package slot

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
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
	if two.Owns("") || two.Owns("a") {
		t.Error("a replica without a Lease owns nothing")
	}
	two.mine.Store(int32(two.Of("a")))
	if !two.Owns("a") {
		t.Error("a replica owns what is in its slot")
	}
	if one := New(1); one != nil || !one.Owns("a") {
		t.Errorf("one slot: want all of it owned, got %v", one)
	}
}

func TestNumberOf(t *testing.T) {
	l := NewLock(New(3), Options{ID: "team-a"})
	for name, want := range map[string]int{
		"team-a": 1, "team-a-3-0": 3, "team-a-12-7": 12, "team-a-3": 0, "team-a-3-0-1": 0, "team-a-b": 0, "team-b-3-0": 0,
		"team": 0, "team-a-03-0": 0, "team-a--3-0": 0, "": 0,
	} {
		if got := l.known.numberOf(name); got != want {
			t.Errorf("slots of Lease %q: want %d, got %d", name, want, got)
		}
	}
}

// A list is all Leases of a control plane.
type list struct {
	coordinationclient.LeaseInterface // which is not needed but for List

	items []coordinationv1.Lease
}

func (l *list) Leases(string) coordinationclient.LeaseInterface { return l }

func (l *list) List(context.Context, metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	return &coordinationv1.LeaseList{Items: l.items}, nil
}

func TestVacant(t *testing.T) {
	const slots = 3
	held := func(slot int, version, holder string) coordinationv1.Lease {
		l := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)),
		}}
		l.Name, l.ResourceVersion = nameOf("id", slots, slot), version
		return l
	}
	l, now := &list{}, time.Duration(0)
	s := New(slots)
	NewLock(s, Options{Client: l, ID: "id", Config: resourcelock.ResourceLockConfig{Identity: "us"}})
	s.others.now = func() time.Duration { return now }
	for _, step := range []struct {
		reason string
		at     time.Duration
		leases []coordinationv1.Lease
		want   []int
	}{
		{reason: "Nobody has had time to take one.", at: 0, leases: []coordinationv1.Lease{held(0, "1", "us")}},
		{
			reason: "What nobody has taken by now is vacant, the slot of this process is not.", at: 30 * time.Second,
			leases: []coordinationv1.Lease{held(0, "2", "us"), held(1, "3", "other")}, want: []int{2},
		},
		{
			reason: "One that was just given up may be taken.", at: time.Minute,
			leases: []coordinationv1.Lease{held(0, "4", "us"), held(1, "5", ""), held(2, "6", "other")},
		},
		{
			reason: "One whose holder is gone is vacant, and one that nobody takes.", at: 90 * time.Second,
			leases: []coordinationv1.Lease{held(0, "7", "us"), held(1, "5", ""), held(2, "6", "other")}, want: []int{1, 2},
		},
	} {
		l.items, now = step.leases, step.at
		var got []int
		for slot := range slots {
			if vacant, err := s.Vacant(t.Context(), slot); err != nil {
				t.Error(err)
			} else if vacant {
				got = append(got, slot)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s\nvacant after %s: -want, +got:\n%s", step.reason, step.at, diff)
		}
	}
}
