package publication

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

const lastingMost = 10 * time.Minute

// newTestPublication returns a publication of things without streams.
func newTestPublication(t *testing.T) *publication {
	t.Helper()
	p, err := newPublication(t.Name(), Config{Sync: thingsWithSecrets(), shared: newShared()}, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.worker.objects.queue.ShutDown()
		p.worker.events.close()
		p.cancel()
	})
	return p
}

// TestPauses shows how long an object rests at most that fails again and again. What only a change cures is not tried
// for long after half a minute.
func TestPauses(t *testing.T) {
	boom := errors.New("boom")
	causes := map[error]time.Duration{
		boom: 30 * time.Second, errEndpointGone: time.Second, &objectsync.RefusalError{}: lastingMost,
		objectsync.ErrForeign: lastingMost, objectsync.ErrAmbiguous: lastingMost, errPanic: lastingMost,
	}
	for err, most := range causes {
		o, pauses, after := &object{}, []time.Duration(nil), time.Duration(0)
		for range 20 {
			pauses = append(pauses, o.pause(errors.Wrap(err, "cannot sync")))
		}
		if first, last := pauses[0], pauses[len(pauses)-1]; first != 50*time.Millisecond || last != most {
			t.Errorf("%v: want 50ms, and %s at most, got %s and %s", err, most, first, last)
		}
		for _, pause := range pauses {
			if after += pause; most == lastingMost && after > time.Minute/2 && after < 5*time.Minute {
				t.Errorf("%v: tried %s after it has failed", err, after)
			}
		}
	}
}

// TestPauseAfterOutage shows that an object that could not be synced for long does not rest for long as soon as
// something that lasts is found out about it: what lasts may end with the outage.
func TestPauseAfterOutage(t *testing.T) {
	o := &object{}
	for range 20 {
		o.pause(errors.New("unreachable"))
	}
	if got := o.pause(objectsync.ErrForeign); got != 50*time.Millisecond {
		t.Errorf("want the first pause, got %s", got)
	}
}

// TestRecords compares what is known of objects and workspaces with a model, for random operations: a workspace is
// known as long as it is shown or any object of it is.
func TestRecords(t *testing.T) {
	const clusters, names = 4, 3
	p, r := newTestPublication(t), rand.New(rand.NewPCG(1, 2))
	objects, shown := set[objectsync.Primary]{}, map[string]Workspace{}
	for range 5000 {
		item := in(strconv.Itoa(r.IntN(clusters)), strconv.Itoa(r.IntN(names)))
		switch r.IntN(4) {
		case 0:
			p.worker.objects.add(item)
			objects[item] = struct{}{}
		case 1:
			p.worker.newPass(t.Context(), item).forget()
			delete(objects, item)
		case 2:
			shown[item.Cluster] = Workspace{Bound: true}
			p.worker.workspaces.follow(Consumers{Workspaces: maps.Clone(shown)})
		default:
			delete(shown, item.Cluster)
			p.worker.workspaces.follow(Consumers{Workspaces: maps.Clone(shown)})
		}
		want := map[string]int{}
		for cluster := range shown {
			want[cluster] = 0
		}
		for o := range objects {
			want[o.Cluster]++
		}
		got := map[string]int{}
		for cluster, w := range p.worker.workspaces.known {
			got[cluster] = w.objects
		}
		if diff := cmp.Diff(want, got); diff != "" || len(p.worker.objects.known) != len(objects) {
			t.Fatalf("objects by workspace: -want, +got:\n%s", diff)
		}
	}
}

// TestSpecChanges shows that what is known of objects stays when another spec takes over, and that all of them are
// tried by that one at once, with the first pauses if they fail again.
func TestSpecChanges(t *testing.T) {
	p := newTestPublication(t)
	failed, synced := in("a", "failed"), in("a", "synced")
	p.worker.objects.note(synced, nil)
	for range 5 {
		p.worker.objects.settle(failed, objectsync.ErrForeign)
	}
	p.worker.objects.note(failed, objectsync.ErrForeign)
	before := p.status()
	next, err := newPublication(t.Name(), p.worker.config, p, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer next.cancel()
	defer next.worker.objects.queue.ShutDown()
	next.worker.objects.resume()
	if diff := cmp.Diff([]string{"failed", "synced"}, drain(next.worker.objects.queue)); diff != "" {
		t.Errorf("tried: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, next.status()); diff != "" || before.Failed != 1 || before.Synced != 1 {
		t.Errorf("counts before were %v: -want, +got:\n%s", before, diff)
	}
	if o := next.worker.objects.get(failed); o.failures != 0 {
		t.Errorf("want it tried as one that has not failed, got %d failures", o.failures)
	}
}
