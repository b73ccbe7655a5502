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
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

const lastingMost = 10 * time.Minute

// newTestPublication returns a publication of things without streams.
func newTestPublication(t *testing.T) *publication {
	t.Helper()
	p, err := newPublication(t.Name(), Config{Sync: thingsWithSecrets(), shared: newShared()}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	p.events = newEventRecorder(t.Name(), p.eventsClient)
	t.Cleanup(func() {
		p.queue.ShutDown()
		p.leftNamespaces.ShutDown()
		p.events.close()
		p.cancel()
	})
	return p
}

// TestPauses shows how long an object rests at most that fails again and again.
func TestPauses(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   time.Duration
	}{
		"Unknown": {reason: "A cause that may pass is tried again soon.", err: errors.New("boom"), want: 30 * time.Second},
		"Foreign": {
			reason: "That a name is taken only a change cures, which is a reason to look again.",
			err:    errors.Wrap(objectsync.ErrForeign, "a"),
			want:   lastingMost,
		},
		"Exists": {
			reason: "Likewise, of a name that the operator has taken.",
			err:    errors.Wrap(objectsync.ErrExists, "a"),
			want:   lastingMost,
		},
		"Invalid": {
			reason: "What a server does not accept it does not accept a second time.",
			err:    errors.Wrap(&objectsync.RefusalError{}, "cannot create"), want: lastingMost,
		},
		"OneOfTwo": {
			reason: "Nor beside another failure.",
			err: kerrors.NewAggregate([]error{
				errors.New("boom"), errors.Wrap(&objectsync.RefusalError{}, "cannot create"),
			}), want: lastingMost,
		},
		"Template": {
			reason: "A template yields nothing for an object before that, or its copy, is another.",
			err:    errors.Wrap(gotemplate.ErrFailed, "a"),
			want:   lastingMost,
		},
		"Costly": {
			reason: "Nor does it become cheaper.",
			err:    errors.Wrap(gotemplate.ErrTooCostly, "a"),
			want:   lastingMost,
		},
		"Long": {reason: "Nor a text shorter.", err: errors.Wrap(jsonpath.ErrTooLong, "a"), want: lastingMost},
		"Credential": {
			reason: "Nor a credential another Secret.",
			err:    errors.Wrap(objectsync.ErrCredential, "a"),
			want:   lastingMost,
		},
		"Panic": {
			reason: "A mistake of the program is made again.",
			err:    errors.Wrap(errPanic, "a"),
			want:   lastingMost,
		},
		"Early": {reason: "What is not known yet is known soon.", err: errEndpointGone, want: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &object{}
			got := o.pause(tc.err)
			if got != 50*time.Millisecond {
				t.Errorf("the first pause: got %s", got)
			}
			if tc.want == lastingMost {
				wantNoneAfterHalfAMinute(t, o, tc.err, got)
			}
			for range 20 {
				got = o.pause(tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// wantNoneAfterHalfAMinute checks that an object is not tried for long after half a minute from its first failure,
// whose pause is given.
func wantNoneAfterHalfAMinute(t *testing.T, o *object, err error, first time.Duration) {
	t.Helper()
	for at := first; at < 5*time.Minute; at += o.pause(err) {
		if at > time.Minute/2 {
			t.Errorf("tried %s after it has failed", at)
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

// TestVainPatches shows which patch of a status is not sent again: the one that has changed nothing, as long as the
// object is the same.
func TestVainPatches(t *testing.T) {
	p, s := newTestPublication(t), statusPatch{"{}", "7"}
	one, two := &pass{publication: p, item: in("a", "1")}, &pass{publication: p, item: in("a", "2")}
	if one.isVain(s) {
		t.Error("want the first sent")
	}
	p.update(one.item, func(o *object) { o.vain = s })
	if !one.isVain(s) || one.isVain(statusPatch{"{}", "8"}) || one.isVain(statusPatch{`{"a":1}`, "7"}) || two.isVain(s) {
		t.Error("want only the same patch of the same object in the same version not sent")
	}
}

// TestRecords compares what is known of objects and workspaces with a model, for random operations: a workspace is
// known as long as it is shown or any object of it is, and an object that was added again is not forgotten.
func TestRecords(t *testing.T) {
	const clusters, names = 4, 3
	p, r := newTestPublication(t), rand.New(rand.NewPCG(1, 2))
	objects, shown := set[objectsync.Primary]{}, map[string]Workspace{}
	added := set[objectsync.Primary]{}
	for range 5000 {
		item := in(strconv.Itoa(r.IntN(clusters)), strconv.Itoa(r.IntN(names)))
		switch r.IntN(5) {
		case 0:
			p.add(item)
			objects[item], added[item] = struct{}{}, struct{}{}
		case 1: // It is synced.
			p.update(item, func(o *object) { o.added = false })
			objects[item] = struct{}{}
			delete(added, item)
		case 2:
			p.forget(item)
			if _, again := added[item]; !again {
				delete(objects, item)
			}
		case 3:
			shown[item.Cluster] = Workspace{Bound: true}
			p.follow(Consumers{Workspaces: maps.Clone(shown)})
		default:
			delete(shown, item.Cluster)
			p.follow(Consumers{Workspaces: maps.Clone(shown)})
		}
		want := map[string]int{}
		for cluster := range shown {
			want[cluster] = 0
		}
		for o := range objects {
			want[o.Cluster]++
		}
		got := map[string]int{}
		for cluster, w := range p.workspaces {
			got[cluster] = w.objects
		}
		if diff := cmp.Diff(want, got); diff != "" || len(p.objects) != len(objects) {
			t.Fatalf("objects by workspace: -want, +got:\n%s", diff)
		}
	}
}
