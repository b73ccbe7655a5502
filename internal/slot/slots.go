package slot

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A sighting is the version of a Lease when it was seen last, and since when it has that version.
type sighting struct {
	version string
	since   time.Duration
}

func nameOf(id string, number, slot int) string { return fmt.Sprintf("%s-%d-%d", id, number, slot) }

// numberOf returns the number of slots of the processes that hold the Lease of a name, 0 if it is none of ours.
func (l *Lock) numberOf(name string) int {
	if name == l.options.ID {
		return 1
	}
	var number, slot int
	_, _ = fmt.Sscanf(strings.TrimPrefix(name, l.options.ID), "-%d-%d", &number, &slot) // Else the name differs.
	if number < 2 || nameOf(l.options.ID, number, slot) != name {
		return 0
	}
	return number
}

// A lease is one of our Leases as the control plane lists it.
type lease struct {
	name   string
	number int // of slots
	record record
	raw    []byte // its version, by which client-go sees that it changes
	held   bool
}

// leases are all Leases of an ID, of any number of slots.
type leases []lease

// named returns the Lease of a name, one that nobody holds if there is none.
func (s leases) named(name string) lease {
	if i := slices.IndexFunc(s, func(x lease) bool { return x.name == name }); i >= 0 {
		return s[i]
	}
	return lease{}
}

// list returns all Leases of the ID.
func (l *Lock) list(ctx context.Context) (leases, error) {
	// Without a resourceVersion the answer is as new as the request.
	found, err := l.options.Client.Leases(l.options.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot list Leases")
	}
	var all leases
	for i := range found.Items {
		if number := l.numberOf(found.Items[i].Name); number > 0 {
			all = append(all, l.see(&found.Items[i], number))
		}
	}
	return all, nil
}

// see remembers since when a Lease is as it is. It is held as long as its holder may have renewed it within its
// duration.
func (l *Lock) see(found *coordinationv1.Lease, number int) lease {
	x := lease{
		name: found.Name, number: number, raw: []byte(found.ResourceVersion),
		record: *resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec),
	}
	now := l.now()
	if l.seen[x.name].version != found.ResourceVersion {
		l.seen[x.name] = sighting{version: found.ResourceVersion, since: now}
	}
	end := l.seen[x.name].since + time.Duration(x.record.LeaseDurationSeconds)*time.Second
	holder := x.record.HolderIdentity
	x.held = holder != "" && holder != l.Identity() && !strings.HasPrefix(holder, passed) && now < end
	return x
}

// none is the slot of a process that holds no Lease.
const none = -1

// Slots are the slots of a number, and which of them is that of this process. Its methods may be called concurrently. A
// nil *Slots is one slot for all, that of this process.
type Slots struct {
	number int
	mine   atomic.Int32
}

// New returns Slots of a number, none of which is that of this process yet. It returns nil for one slot.
func New(number int) *Slots {
	if number <= 1 {
		return nil
	}
	s := &Slots{number: number}
	s.mine.Store(none)
	return s
}

// Responsible reports whether the ProviderConfig of a key is in the slot of this process. The key is empty for what
// goes through no ProviderConfig.
func (s *Slots) Responsible(key string) bool {
	return s == nil || s.Of(key) == int(s.mine.Load())
}

// Of returns the slot of the ProviderConfig of a key: FNV-1a of the key, modulo the number of slots. Slot 0 also has
// what goes through no ProviderConfig.
func (s *Slots) Of(key string) int {
	if s == nil || key == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))              // A hash takes everything.
	return int(h.Sum32() % uint32(s.number)) //nolint:gosec // A number of slots is small.
}

// Metrics returns a collector of which slot is that of this process, by the word of the flag, if there are several. Its
// value is their number.
func (s *Slots) Metrics() prometheus.Collector {
	desc := prometheus.NewDesc("provider_kcp_shard",
		"The shard of this replica, where replicas share the work. The value is the number of shards.",
		[]string{"shard"}, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if s != nil && s.mine.Load() != none {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(s.number), strconv.Itoa(int(s.mine.Load())))
		}
	})
}

type record = resourcelock.LeaderElectionRecord

// passed begins the holder of a coordinator that a process has passed, which no other program takes. No identity of a
// process begins with it.
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
	slots   *Slots
	options Options
	now     func() time.Duration
	seen    map[string]sighting // by the name of the Lease

	coordinator *resourcelock.LeaseLock
	leases      []*resourcelock.LeaseLock // by slot
	at          int                       // the slot whose Lease is held, or is about to be
	free        bool                      // Get has found that it can be taken
	held        bool                      // this process has got it, and works
	waits       string                    // the Lease of another number that is waited for
}

// NewLock returns the Lock of a process that has none of the slots yet.
func NewLock(s *Slots, o Options) *Lock {
	started := time.Now()
	l := &Lock{
		slots: s, options: o, now: func() time.Duration { return time.Since(started) }, seen: map[string]sighting{},
	}
	lease := func(name string) *resourcelock.LeaseLock {
		return &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}, Client: o.Client, LockConfig: o.Config,
		}
	}
	l.coordinator = lease(o.ID)
	if s == nil {
		l.leases = append(l.leases, l.coordinator)
		return l
	}
	for slot := range s.number {
		l.leases = append(l.leases, lease(nameOf(o.ID, s.number, slot)))
	}
	return l
}

// Identity returns the name of this process.
func (l *Lock) Identity() string { return l.coordinator.Identity() }

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
		r, raw, err := l.coordinator.Get(ctx)
		if l.free = true; err != nil || !strings.HasPrefix(r.HolderIdentity, passed) {
			return r, raw, err // client-go knows whether it can be taken.
		}
	}
	l.free = false
	all, err := l.list(ctx)
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

// write writes the Lease. A process that gets it passes the coordinator, or gives it up.
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
		l.options.Log.Info("This replica reconciles a shard", "shard", l.at, "shards", l.slots.number)
	}
	l.held = true
	return nil
}

// pass passes the coordinator, or returns an error: a process of another number of slots works, or has passed it
// meanwhile.
func (l *Lock) pass(ctx context.Context, r record) error {
	coordinator, _, err := l.coordinator.Get(ctx)
	write := l.coordinator.Update
	if apierrors.IsNotFound(err) {
		coordinator, err, write = &record{}, nil, l.coordinator.Create
	}
	if err != nil {
		return errors.Wrap(err, "cannot read the Lease that coordinates shards")
	}
	all, err := l.list(ctx)
	if err != nil {
		return err
	}
	if other, ok := l.foreign(all); ok {
		return errors.Errorf("Lease %s is held by a replica with another --shards", other.name)
	}
	r.HolderIdentity, r.LeaseDurationSeconds = passed+strconv.Itoa(l.slots.number), math.MaxInt32
	r.LeaderTransitions = coordinator.LeaderTransitions + 1 // Each passage is a change.
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
			l.options.Log.Info("This replica waits for a replica with another --shards to stop", "lease", x.name,
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
