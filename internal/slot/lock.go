package slot

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type record = resourcelock.LeaderElectionRecord

// passed begins the holder of a gate that a process has passed, which no other program takes. No identity of a process
// begins with it.
const passed = "slots="

// Options of a Lock.
type Options struct {
	// Client reads and writes Leases.
	Client coordinationclient.LeasesGetter
	// Namespace of the Leases.
	Namespace string
	// ID is the name of the Lease of one slot for all, and begins those of more slots.
	ID string
	// Config names the process.
	Config resourcelock.ResourceLockConfig
	// Log hears of slots that are taken, and of processes of another number that are waited for.
	Log logging.Logger
}

// A Lock is held by a process that holds the Lease of a slot, while no process of another number of slots works. Get
// looks for a Lease that nobody holds. A leader election calls its methods one after another.
type Lock struct {
	slots *Slots
	log   logging.Logger
	known *observer

	gate   *resourcelock.LeaseLock
	leases []*resourcelock.LeaseLock // by slot
	at     int                       // the slot whose Lease is held, or is about to be
	free   bool                      // Get has found that it can be taken
	held   bool                      // this process has got it, and works
	waits  string                    // the Lease of another number that is waited for
}

// NewLock returns the Lock of a process that has none of the slots yet.
func NewLock(s *Slots, o Options) *Lock {
	l := &Lock{slots: s, log: o.Log, known: newObserver(o)}
	lease := func(name string) *resourcelock.LeaseLock {
		return &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}, Client: o.Client, LockConfig: o.Config,
		}
	}
	l.gate = lease(o.ID)
	if s == nil {
		l.leases = append(l.leases, l.gate)
		return l
	}
	for slot := range s.number {
		l.leases = append(l.leases, lease(nameOf(o.ID, s.number, slot)))
	}
	return l
}

// Identity returns the name of this process.
func (l *Lock) Identity() string { return l.gate.Identity() }

// Describe names the Lease for logs.
func (l *Lock) Describe() string { return l.leases[l.at].Describe() }

// RecordEvent records an event on the Lease.
func (l *Lock) RecordEvent(s string) { l.leases[l.at].RecordEvent(s) }

// Get reads the Lease that is held. Before there is one, it finds one that nobody holds, or returns one that is waited
// for.
func (l *Lock) Get(ctx context.Context) (*record, []byte, error) {
	if l.held {
		return l.leases[l.at].Get(ctx)
	}
	if l.slots == nil {
		r, raw, err := l.gate.Get(ctx)
		if l.free = true; err != nil || !strings.HasPrefix(r.HolderIdentity, passed) {
			return r, raw, err // client-go knows whether it can be taken.
		}
	}
	l.free = false
	all, err := l.known.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	if x, ok := l.foreign(all); ok {
		return &x.record, x.raw, nil
	}
	l.at, l.free = l.choose(all)
	known := all.named(l.leases[l.at].LeaseMeta.Name)
	if !l.free {
		return &known.record, known.raw, nil
	}
	r, raw, err := l.leases[l.at].Get(ctx)
	if err == nil {
		l.free = same(*r, known.record)
	}
	if err == nil && l.free {
		r.HolderIdentity = "" // So that client-go takes it, which has not seen for how long it was not renewed.
	}
	return r, raw, err
}

// Create creates the Lease that Get has chosen, held by this process.
func (l *Lock) Create(ctx context.Context, r record) error {
	return l.write(ctx, r, l.leases[l.at].Create)
}

// Update takes the Lease that Get has chosen, or renews or releases it.
func (l *Lock) Update(ctx context.Context, r record) error {
	return l.write(ctx, r, l.leases[l.at].Update)
}

// write writes the Lease. A process that gets it passes the gate, or gives it up.
func (l *Lock) write(ctx context.Context, r record, write func(context.Context, record) error) error {
	if !l.held && !l.free {
		return errors.New("no Lease is free") // Get has given none, and client-go may have another clock.
	}
	l.free = false
	if err := write(ctx, r); err != nil || l.held {
		return err
	}
	if l.slots != nil {
		if err := l.pass(ctx, r); err != nil {
			r.HolderIdentity, r.LeaseDurationSeconds = "", 1         // As client-go releases it.
			_ = l.leases[l.at].Update(context.WithoutCancel(ctx), r) // Else it runs out.
			return err
		}
		l.slots.mine.Store(int32(l.at)) //nolint:gosec // A number of slots is small.
		l.log.Info("This replica reconciles a shard", "shard", l.at, "shards", l.slots.number)
	}
	l.held = true
	return nil
}

// pass passes the gate, or returns an error: a process of another number of slots works, or has passed it meanwhile.
func (l *Lock) pass(ctx context.Context, r record) error {
	gate, _, err := l.gate.Get(ctx)
	write := l.gate.Update
	if apierrors.IsNotFound(err) {
		gate, err, write = &record{}, nil, l.gate.Create
	}
	if err != nil {
		return errors.Wrap(err, "cannot read the Lease that coordinates shards")
	}
	all, err := l.known.list(ctx)
	if err != nil {
		return err
	}
	if other, ok := l.foreign(all); ok {
		return errors.Errorf("Lease %s is held by a replica with another --shards", other.name)
	}
	r.HolderIdentity, r.LeaseDurationSeconds = passed+strconv.Itoa(l.slots.number), math.MaxInt32
	r.LeaderTransitions = gate.LeaderTransitions + 1 // Each passage is a change.
	return errors.Wrap(write(ctx, r), "cannot write the Lease that coordinates shards")
}

// foreign returns a Lease that a process of another number of slots holds, and whether there is one.
func (l *Lock) foreign(all leases) (lease, bool) {
	for _, x := range all {
		if !x.held || x.number == len(l.leases) {
			continue
		}
		if l.waits != x.name {
			l.waits = x.name
			l.log.Info("This replica waits for a replica with another --shards to stop", "lease", x.name,
				"holder", x.record.HolderIdentity)
		}
		return x, true
	}
	return lease{}, false
}

// choose returns a slot whose Lease nobody else holds, and whether there is one. Processes do not all begin with the
// same slot.
func (l *Lock) choose(all leases) (slot int, free bool) {
	first := l.slots.Of(l.Identity())
	for i := range l.leases {
		slot = (first + i) % len(l.leases)
		if !all.named(l.leases[slot].LeaseMeta.Name).held {
			return slot, true
		}
	}
	return first, false
}

// same reports whether two records are of one state of a Lease.
func same(a, b record) bool {
	return a.HolderIdentity == b.HolderIdentity && a.LeaderTransitions == b.LeaderTransitions &&
		a.RenewTime.Equal(&b.RenewTime)
}
