package target

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// defaultWorkers is how many reconciles each controller runs at a time if the Registry is not told.
	defaultWorkers = 100
	// slotInterval is the pause between two looks at reconciles that wait, while any does.
	slotInterval = 250 * time.Millisecond
)

// workerSlots share the workers of all controllers among the targets: a reconcile has a slot of its target while it
// runs. Its methods may be called concurrently.
type workerSlots struct {
	wake    func(informer.Owner)
	workers int

	mu      sync.Mutex
	targets map[*targetSlots]struct{} // those with a slot in use or a reconcile in their queue
	queue   []*targetSlots            // those with a reconcile in their queue, the next first
	ticking bool
}

// newWorkerSlots returns the slots for controllers with a number of workers each; zero means 100. wake is called for
// each owner that was refused, when there is a slot for it.
func newWorkerSlots(workers int, wake func(informer.Owner)) *workerSlots {
	return &workerSlots{
		wake: wake, workers: cmp.Or(max(0, workers), defaultWorkers), targets: map[*targetSlots]struct{}{},
	}
}

// maxEach returns how many slots a single target may have, so that one that falls silent leaves some to the others.
func (s *workerSlots) maxEach() int { return max(1, s.workers*3/4) }

// maxSlow returns how many slots all targets together may have that are slow or not known yet.
func (s *workerSlots) maxSlow() int { return max(1, s.workers/2) }

// maxSilent returns how many of those all silent targets together may have.
func (s *workerSlots) maxSilent() int { return max(1, s.workers/4) }

// acquire takes a slot of a target for a reconcile of an owner. If there is none the error satisfies IsQueued, and the
// owner is woken later.
func (t *targetSlots) acquire(o informer.Owner) error {
	s, now := t.all, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.called = max(0, t.called-1)
	t.observe(now)
	if !s.admits(t, now) {
		t.enqueue(o)
		s.tick()
		return t.newQueuedError(now)
	}
	t.used++
	s.targets[t] = struct{}{}
	return nil
}

// release gives a slot back. prompt reports whether the target kept the reconcile waiting for nothing.
func (t *targetSlots) release(prompt bool) {
	s := t.all
	s.mu.Lock()
	t.used--
	if prompt && !t.isSilent() {
		t.grow()
	}
	s.settle(t)
	woken := s.next(time.Now())
	s.mu.Unlock()
	s.wakeAll(woken)
}

// settle forgets a target that has nothing of the slots. The caller holds the lock.
func (s *workerSlots) settle(t *targetSlots) {
	if t.used+t.called+len(t.waits)+len(t.queue) == 0 {
		delete(s.targets, t)
	}
}

// tick has the waits observed regularly while there are any. The caller holds the lock.
func (s *workerSlots) tick() {
	if !s.ticking {
		s.ticking = true
		time.AfterFunc(slotInterval, s.observe)
	}
}

// observe notes which targets are silent, ends waits for them if there are too many, and wakes who finds a slot now.
func (s *workerSlots) observe() {
	s.mu.Lock()
	s.ticking = false
	now := time.Now()
	for t := range s.targets {
		t.called = 0 // Who was woken and has not come may be gone.
		t.observe(now)
		if len(t.waits)+len(t.queue) > 0 {
			s.tick()
		}
		s.settle(t)
	}
	s.trim(now)
	woken := s.next(now)
	s.mu.Unlock()
	s.wakeAll(woken)
}

// slotUse is what is in use of the slots.
type slotUse struct {
	all    int // slots in use
	slow   int // by slow and silent targets
	silent int // by silent targets

	slowTargets   int // targets that share the slots of slow ones
	silentTargets int // targets that share the slots of silent ones
}

// use returns what is in use of the slots. The caller holds the lock.
func (s *workerSlots) use(now time.Time) slotUse {
	u := slotUse{}
	for t := range s.targets {
		n := t.used + t.called
		u.all += n
		if !t.isSlow(now) {
			continue
		}
		u.slow += n
		u.slowTargets++
		if t.isSilent() {
			u.silent += n
			u.silentTargets++
		}
	}
	return u
}

// admits reports whether a target may have another slot. The caller holds the lock.
func (s *workerSlots) admits(t *targetSlots, now time.Time) bool {
	if !t.isSlow(now) {
		return t.hasCredit(now)
	}
	_, known := s.targets[t]
	s.targets[t] = struct{}{} // It shares what the slow ones have.
	u := s.use(now)
	if !known {
		s.settle(t)
	}
	return s.admitsBeside(t, now, u)
}

// admitsBeside reports whether a target may have another slot beside those in use. The caller holds the lock.
func (s *workerSlots) admitsBeside(t *targetSlots, now time.Time, u slotUse) bool {
	n := t.used + t.called
	switch {
	case !t.hasCredit(now):
		return false
	case t.isSilent():
		return u.silent < s.maxSilent() && n < max(1, s.maxSilent()/max(1, u.silentTargets))
	case t.isSlow(now):
		return u.slow < s.maxSlow() && n < max(1, s.maxSlow()/max(1, u.slowTargets))
	}
	return true
}

// next takes who finds a slot now from the queues, those of silent targets last, each target in turn. The caller holds
// the lock.
func (s *workerSlots) next(now time.Time) []informer.Owner {
	if len(s.queue) == 0 {
		return nil
	}
	u := s.use(now)
	woken := s.nextOf(now, &u, func(t *targetSlots) bool { return !t.isSilent() })
	woken = append(woken, s.nextOf(now, &u, (*targetSlots).isSilent)...)
	s.queue = slices.DeleteFunc(s.queue, func(t *targetSlots) bool { return len(t.queue) == 0 })
	return woken
}

// nextOf takes who finds a slot now from the queues of some targets. The caller holds the lock.
func (s *workerSlots) nextOf(now time.Time, u *slotUse, of func(*targetSlots) bool) []informer.Owner {
	var woken []informer.Owner
	for more := true; more; {
		more = false
		for _, t := range slices.Clone(s.queue) {
			if len(t.queue) == 0 || !of(t) || !s.admitsBeside(t, now, *u) {
				continue
			}
			woken = append(woken, t.dequeue())
			more = true
			u.all++
			if t.isSlow(now) {
				u.slow++
			}
			if t.isSilent() {
				u.silent++
			}
			s.toBack(t)
		}
	}
	return woken
}

// toBack moves a target to the end of the queue. The caller holds the lock.
func (s *workerSlots) toBack(t *targetSlots) {
	i := slices.Index(s.queue, t)
	s.queue = append(slices.Delete(s.queue, i, i+1), t)
}

// trim ends waits for silent targets if others need their slots, the latest first: those that are older are the first
// to be answered. The caller holds the lock.
func (s *workerSlots) trim(now time.Time) {
	u, waits := s.use(now), s.silentWaits()
	if excess := min(u.silent-s.maxSilent(), len(waits)); excess > 0 && s.isShort(now, u) {
		for _, w := range waits[len(waits)-excess:] {
			w.cut(now)
		}
		return
	}
	s.rotate(now, u, waits)
}

// isShort reports whether others than silent targets lack slots, or may soon. The caller holds the lock.
func (s *workerSlots) isShort(now time.Time, u slotUse) bool {
	if u.all > s.maxEach() {
		return true
	}
	return u.slow >= s.maxSlow() && slices.ContainsFunc(s.queue, func(t *targetSlots) bool {
		return !t.isSilent() && t.isSlow(now) && t.hasCredit(now)
	})
}

// rotate ends the waits for silent targets that take long if they have all slots of these, and others of them have
// none. The caller holds the lock.
func (s *workerSlots) rotate(now time.Time, u slotUse, waits []*wait) {
	waiting := 0
	for _, t := range s.queue {
		if t.isSilent() && t.used == 0 {
			waiting++
		}
	}
	if u.silent < s.maxSilent() {
		return
	}
	for _, w := range waits[:min(waiting, len(waits))] {
		if now.Sub(w.began) > lateAfter {
			w.cut(now)
		}
	}
}

// silentWaits returns the waits for silent targets, the oldest first. The caller holds the lock.
func (s *workerSlots) silentWaits() []*wait {
	var waits []*wait
	for t := range s.targets {
		if !t.isSilent() {
			continue
		}
		for w := range t.waits {
			waits = append(waits, w)
		}
	}
	slices.SortFunc(waits, func(x, y *wait) int { return x.began.Compare(y.began) })
	return waits
}

func (s *workerSlots) wakeAll(owners []informer.Owner) {
	for _, o := range owners {
		s.wake(o)
	}
}
