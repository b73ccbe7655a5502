package slot

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/crossplane-contrib/provider-kcp/internal/fence"
)

const (
	interleavings = 10_000
	steps         = 250
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

var (
	errLost   = errors.New("the request or its answer is lost")
	errKilled = errors.New("the process is killed")
)

// A world is a control plane with Leases, the real time, and the processes that run.
type world struct {
	*rand.Rand

	leases    map[string]*coordinationv1.Lease
	revision  int
	time      time.Duration
	processes []*process
	started   int
	quiet     bool // nothing fails any more
	worked    int  // steps in which somebody could write
}

// A process takes part in the leader election of one number of slots. It runs from one request, or pause, to the next.
type process struct {
	coordinationclient.LeaseInterface // which it does not need but for some methods

	world  *world
	number int
	slots  *Slots
	lock   resourcelock.Interface
	fence  *fence.Fence
	rate   float64       // of its clock
	behind time.Duration // by what its clock lags that does not count the time in which the machine is suspended
	wall   time.Duration // by what its wall clock is wrong
	wakes  time.Duration
	frozen time.Duration
	killed bool
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	kill   func()
}

func (w *world) start(number int) {
	w.started++
	p := &process{world: w, number: number, slots: New(number), rate: 0.98 + 0.04*w.Float64()}
	p.fence = fence.NewWithClock(p.clock, func(string) { p.killed = true })
	l := NewLock(p.slots, Options{
		Client: p, ID: "id", Log: logging.NewNopLogger(),
		Config: resourcelock.ResourceLockConfig{Identity: "process" + strconv.Itoa(w.started)},
	})
	l.now = func() time.Duration { return p.clock() - p.behind }
	p.lock = p.fence.Lock(l)
	p.next, p.kill = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		p.elect()
	})
	w.processes = append(w.processes, p)
}

// clock is a clock that counts the time in which the machine is suspended. No uptime is zero.
func (p *process) clock() time.Duration {
	return time.Hour + time.Duration(float64(p.world.time)*p.rate)
}

// pause lets others run.
func (p *process) pause() error {
	if p.killed || !p.yield(struct{}{}) {
		p.killed = true
		return errKilled
	}
	return nil
}

// elect is what client-go's leader election does, from the first look until the Lease is lost.
func (p *process) elect() {
	var raw string
	var seen resourcelock.LeaderElectionRecord
	var since, renewed time.Duration
	leads := false
	for !p.killed && (!leads || p.clock()-renewed < renewDeadline) {
		if p.try(&raw, &seen, &since) {
			leads, renewed = true, p.clock()
		}
		if leads && !p.world.quiet && p.world.IntN(100) == 0 {
			break
		}
		p.wakes = p.world.time + retryPeriod + time.Duration(p.world.Int64N(int64(retryPeriod)))
		_ = p.pause()
	}
	if leads && !p.killed && p.world.IntN(2) == 0 { // It is stopped, and releases the Lease.
		ctx := context.Background()
		if r, _, err := p.lock.Get(ctx); err == nil && !p.killed {
			_ = p.lock.Update(ctx, resourcelock.LeaderElectionRecord{
				LeaderTransitions: r.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: p.date(), AcquireTime: p.date(),
			})
		}
	}
	p.killed = true
}

// date is what the wall clock shows, which nobody may depend on.
func (p *process) date() metav1.Time {
	if p.world.IntN(10) == 0 {
		p.wall = time.Duration(p.world.Int64N(int64(time.Hour))) - time.Hour/2
	}
	return metav1.NewTime(time.Unix(1_000_000, 0).Add(p.world.time + p.wall))
}

// try is client-go's tryAcquireOrRenew.
func (p *process) try(raw *string, seen *resourcelock.LeaderElectionRecord, since *time.Duration) bool {
	ctx, now, us := context.Background(), p.clock(), p.lock.Identity()
	r := resourcelock.LeaderElectionRecord{
		HolderIdentity: us, LeaseDurationSeconds: int(leaseDuration / time.Second),
		RenewTime: p.date(), AcquireTime: p.date(),
	}
	valid := func() bool { return *since+time.Duration(seen.LeaseDurationSeconds)*time.Second > now }
	if seen.HolderIdentity == us && valid() {
		r.AcquireTime, r.LeaderTransitions = seen.AcquireTime, seen.LeaderTransitions
		if p.lock.Update(ctx, r) == nil {
			*seen, *since = r, p.clock()
			return true
		}
	}
	old, oldRaw, err := p.lock.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		if p.lock.Create(ctx, r) != nil {
			return false
		}
		*seen, *since = r, p.clock()
		return true
	case err != nil:
		return false
	case *raw != string(oldRaw):
		*raw, *seen, *since = string(oldRaw), *old, p.clock()
	}
	if old.HolderIdentity != "" && old.HolderIdentity != us && valid() {
		return false
	}
	if r.LeaderTransitions = old.LeaderTransitions; seen.HolderIdentity == us {
		r.AcquireTime = old.AcquireTime
	} else {
		r.LeaderTransitions++
	}
	if p.lock.Update(ctx, r) != nil {
		return false
	}
	*seen, *since = r, p.clock()
	return true
}

// request is one request to the control plane, which takes time, and may be lost on either way.
func (p *process) request(do func() error) error {
	if err := p.pause(); err != nil {
		return err
	}
	if !p.world.quiet && p.world.IntN(40) == 0 {
		return errLost
	}
	err := do()
	if failed := p.pause(); failed != nil {
		return failed
	}
	if !p.world.quiet && p.world.IntN(40) == 0 {
		return errLost
	}
	return err
}

func (p *process) Leases(string) coordinationclient.LeaseInterface { return p }

func (p *process) Get(_ context.Context, name string, _ metav1.GetOptions) (found *coordinationv1.Lease, err error) {
	err = p.request(func() error {
		known, ok := p.world.leases[name]
		if !ok {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
		}
		found = known.DeepCopy()
		return nil
	})
	return found, err
}

func (p *process) List(context.Context, metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	all := &coordinationv1.LeaseList{}
	err := p.request(func() error {
		for _, name := range slices.Sorted(maps.Keys(p.world.leases)) {
			all.Items = append(all.Items, *p.world.leases[name].DeepCopy())
		}
		return nil
	})
	return all, err
}

func (p *process) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return p.put(l, "")
}

func (p *process) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return p.put(l, l.ResourceVersion)
}

// put writes a Lease if it has a version, or if there is none and the version is empty.
func (p *process) put(l *coordinationv1.Lease, version string) (*coordinationv1.Lease, error) {
	l = l.DeepCopy()
	err := p.request(func() error {
		known, ok := p.world.leases[l.Name]
		if ok != (version != "") || ok && known.ResourceVersion != version {
			return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, l.Name, errors.New("it has changed"))
		}
		p.world.revision++
		l.ResourceVersion = strconv.Itoa(p.world.revision)
		p.world.leases[l.Name] = l.DeepCopy()
		return nil
	})
	if err != nil {
		return &coordinationv1.Lease{}, err
	}
	return l, nil
}

// works reports whether the fence of a process is open.
func (p *process) works() bool { return !p.killed && p.fence.Holds() }

// step runs one process up to its next request, and lets time go by.
func (w *world) step() {
	w.time += time.Duration(w.Int64N(int64(150 * time.Millisecond)))
	if !w.quiet {
		w.disturb()
	}
	ready := slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool {
		return p.frozen > w.time || p.wakes > w.time
	})
	if len(ready) > 0 {
		ready[w.IntN(len(ready))].next()
	}
	w.processes = slices.DeleteFunc(w.processes, func(p *process) bool {
		if p.killed {
			p.kill()
		}
		return p.killed
	})
}

// disturb makes happen what may happen to processes and machines.
func (w *world) disturb() {
	if len(w.processes) == 0 || w.IntN(60) == 0 && len(w.processes) < 6 {
		w.start(1 + w.IntN(3))
	}
	p := w.processes[w.IntN(len(w.processes))]
	switch w.IntN(120) {
	case 0:
		p.killed = true
	case 1, 2: // SIGSTOP, a slow machine, or a suspended one, whose clock stops.
		d := time.Duration(w.Int64N(int64(3 * leaseDuration)))
		p.frozen = w.time + d
		if w.IntN(2) == 0 {
			p.behind += d
		}
	case 3: // Everybody waits, as for a control plane that hangs.
		w.time += time.Duration(w.Int64N(int64(2 * leaseDuration)))
	}
}

// check returns what must never be.
func (w *world) check() error {
	var number int
	taken := map[int]string{}
	for _, p := range w.processes {
		if !p.works() {
			continue
		}
		mine := 0
		if p.slots != nil {
			mine = int(p.slots.mine.Load())
		}
		if other, ok := taken[mine]; ok {
			return errors.Errorf("%s and %s both write as slot %d", p.lock.Identity(), other, mine)
		}
		taken[mine] = p.lock.Identity()
		if number != 0 && number != p.number {
			return errors.Errorf("processes of %d and of %d slots write", number, p.number)
		}
		number = p.number
	}
	if number > 0 {
		w.worked++
	}
	return nil
}

// settles reports whether processes of one number of slots share these in the end, if nothing fails any more.
func (w *world) settles(number int) bool {
	for _, p := range w.processes {
		p.killed = true
	}
	w.quiet = true
	w.step()
	for range number {
		w.start(number)
	}
	for end := w.time + 4*leaseDuration; w.time < end; {
		w.step()
	}
	works := 0
	for _, p := range w.processes {
		if p.works() {
			works++
		}
	}
	return works == number && w.check() == nil
}

// TestModel shows in random interleavings of processes, requests, failures and clocks that no two processes write for
// one slot, and none for different numbers of slots; and that all slots are taken when the failures end.
func TestModel(t *testing.T) {
	const parts = 4
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			worked := 0
			for seed := part; seed < interleavings; seed += parts {
				w := &world{Rand: rand.New(rand.NewPCG(1, uint64(seed))), leases: map[string]*coordinationv1.Lease{}}
				if err := run(w); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				worked += w.worked
			}
			if share := float64(worked) / (interleavings / parts * steps); share < 0.2 {
				t.Errorf("steps in which somebody writes: want a fifth, got %.2f", share)
			}
		})
	}
}

func run(w *world) error {
	for range steps {
		w.step()
		if err := w.check(); err != nil {
			return err
		}
	}
	if number := 1 + w.IntN(3); w.IntN(10) == 0 && !w.settles(number) {
		return errors.Errorf("%d processes do not share %d slots in the end: %s", number, number, w)
	}
	for _, p := range w.processes {
		p.killed = true
	}
	w.step()
	return nil
}

// String lists the Leases.
func (w *world) String() string {
	all := make([]string, 0, len(w.leases))
	for name, l := range w.leases {
		all = append(all, name+": "+*l.Spec.HolderIdentity)
	}
	return strings.Join(all, "\n")
}
