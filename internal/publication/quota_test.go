package publication

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestUse shows how much the objects of one workspace may use together, and who is tried again when one uses less.
func TestUse(t *testing.T) {
	const most = objectsync.RoomMost
	p := newTestPublication(t)
	one, two, other := in("a", "one"), in("a", "two"), in("b", "other")
	for _, step := range []struct {
		reason string
		object objectsync.Primary
		n      int
		want   bool
	}{
		{reason: "One may use all there is.", object: one, n: most, want: true},
		{reason: "It may not use more.", object: one, n: most + 1, want: false},
		{reason: "It may use as much again.", object: one, n: most, want: true},
		{reason: "Then there is nothing for another.", object: two, n: 1, want: false},
		{reason: "Who uses nothing needs no room.", object: two, n: 0, want: true},
		{reason: "Another workspace has as much.", object: other, n: most, want: true},
	} {
		at := &pass{worker: p.worker, item: step.object, needs: set[need]{}}
		got := at.mayUse(step.n)
		if got != step.want {
			t.Errorf("%s want %t, got %t", step.reason, step.want, got)
		}
		p.worker.needs.set(step.object, at.needs)
		if got { // Of one that is refused it is not known what it uses.
			p.worker.needs.shrink(step.object, at.used)
		}
	}
	at := &pass{worker: p.worker, item: two, needs: set[need]{}}
	at.mayUse(1)
	p.worker.needs.shrink(one, most-1)
	if item, _ := p.worker.objects.queue.Get(); item != two {
		t.Errorf("want the one tried that waits, got %v", item)
	}
	if !at.mayUse(1) {
		t.Error("want room when another uses less")
	}
	for _, item := range []objectsync.Primary{one, two, other} {
		p.worker.needs.shrink(item, 0)
	}
	if d := p.worker.needs; len(d.used)+len(d.of) > 0 {
		t.Errorf("want nothing counted, got %v, %v", d.used, d.of)
	}
}
