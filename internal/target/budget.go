package target

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

const (
	// promptly is how long a reconcile may wait for a target until the target counts as slow.
	promptly = 250 * time.Millisecond
	// quietAfter is how long a target may answer nothing, while a reconcile waits, until its share of the workers is limited.
	quietAfter = time.Second
	// defaultWorkers is how many reconciles each controller runs at a time if the Registry is not told.
	defaultWorkers = 100
)

// A budget shares the workers of the controllers among the targets. Its methods may be called concurrently.
type budget struct {
	wake    func(watch.Owner)
	all     int           // how many waits all targets together may have
	slow    int           // how many of them the slow targets together may have
	patient chan struct{} // bounds the reconciles that wait for something that is about to arrive

	mu      sync.Mutex
	waits   map[*wait]struct{}
	queue   []queued // who is woken when there is a place, in this order
	queuing map[watch.Owner]bool
}

// An account is what one target has of a budget. Nothing is charged to a nil account.
type account struct {
	budget *budget

	held  int  // how many waits there are
	old   int  // how many of them take longer than promptly
	tardy bool // the last answer was not prompt

	answered time.Time // when the last answer came, prompt or not
}

// A wait is the time during which a reconcile does nothing but wait for a target.
type wait struct {
	owner   watch.Owner
	account *account
	began   time.Time
	old     bool
	cancel  context.CancelCauseFunc // nil if it cannot be ended
	timer   *time.Timer
}

// queued is an owner that was refused.
type queued struct {
	owner   watch.Owner
	account *account
}

// newBudget returns a budget for controllers with a number of workers each. A quarter of them is left to targets that answer.
func newBudget(workers int, wake func(watch.Owner)) *budget {
	if workers <= 0 {
		workers = defaultWorkers
	}
	all := max(1, workers-max(1, workers/4))
	return &budget{
		wake: wake, all: all, slow: max(1, workers/2), patient: make(chan struct{}, max(1, workers/10)),
		waits: map[*wait]struct{}{}, queuing: map[watch.Owner]bool{},
	}
}

// enter begins a wait of an owner. If the target has its share already the error satisfies IsBusy or is a conflict, and the
// owner is woken later.
func (a *account) enter(o watch.Owner, cancel context.CancelCauseFunc) (*wait, error) {
	w := &wait{owner: o, account: a, began: time.Now(), cancel: cancel}
	if a == nil {
		return w, nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.isQuiet() && !b.admits(a, a.held, b.used()) {
		b.refuse(o, a)
		if b.isSick(a) {
			return nil, busyError{}
		}
		return nil, crowdedError{}
	}
	a.held++
	b.waits[w] = struct{}{}
	w.timer = time.AfterFunc(promptly, w.age)
	return w, nil
}

// refuse has an owner woken when its target may have another wait. The caller holds the lock.
func (b *budget) refuse(o watch.Owner, a *account) {
	if !b.queuing[o] {
		b.queuing[o] = true
		b.queue = append(b.queue, queued{owner: o, account: a})
	}
}

// isSick reports whether a target keeps a reconcile waiting and has answered nothing for so long that it is worth a word. One that is only busy
// is not: its reconciles come a moment later. The caller holds the lock.
func (b *budget) isSick(a *account) bool {
	if time.Since(a.answered) < lateAfter {
		return false
	}
	for w := range b.waits {
		if w.account == a && time.Since(w.began) > lateAfter {
			return true
		}
	}
	return false
}

// answer records that the target has answered a request.
func (a *account) answer() {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.answered = time.Now()
}

// isQuiet reports whether the target keeps a reconcile waiting, and has answered nothing for a while. Only such a target is limited: the reconciles
// of one that is busy come to an end, and to begin them anew costs it more. The caller holds the lock.
func (a *account) isQuiet() bool { return a.old > 0 && time.Since(a.answered) > quietAfter }

// isSlow reports whether the target keeps a reconcile waiting, or kept the last one. The caller holds the lock.
func (a *account) isSlow() bool { return a.old > 0 || a.tardy }

// A usage is what is taken of a budget.
type usage struct {
	all     int // how many waits there are
	slow    int // how many of them slow targets have
	targets int // how many slow targets have any
}

// used returns what is taken of the budget. The caller holds the lock.
func (b *budget) used() usage {
	u := usage{all: len(b.waits)}
	seen := map[*account]struct{}{}
	for w := range b.waits {
		if w.account.isSlow() {
			u.slow++
			seen[w.account] = struct{}{}
		}
	}
	u.targets = len(seen)
	return u
}

// admits reports whether a target that has a number of waits may have another. Those of slow targets share half of the workers evenly. The
// caller holds the lock.
func (b *budget) admits(a *account, held int, u usage) bool {
	switch {
	case u.all >= b.all:
		return false
	case !a.isSlow():
		return true
	case held == 0:
		return u.slow < b.slow
	}
	return u.slow < b.slow && held < max(1, b.slow/max(1, u.targets))
}

// age makes a wait old, and its target slow.
func (w *wait) age() {
	b := w.account.budget
	b.mu.Lock()
	if _, waits := b.waits[w]; waits {
		w.old = true
		w.account.old++
		w.account.tardy = true
		w.timer = time.AfterFunc(quietAfter, b.trim)
	}
	woken := b.next()
	b.mu.Unlock()
	b.wakeAll(woken)
}

// trim ends the latest waits for quiet targets that are more than their share: they began before it was known.
func (b *budget) trim() {
	b.mu.Lock()
	var quiet []*wait
	for w := range b.waits {
		if w.cancel != nil && w.account.isQuiet() {
			quiet = append(quiet, w)
		}
	}
	slices.SortFunc(quiet, func(x, y *wait) int { return x.began.Compare(y.began) })
	for _, w := range quiet[min(b.slow, len(quiet)):] {
		b.remove(w)
		b.refuse(w.owner, w.account)
		w.cancel(busyError{})
	}
	woken := b.next()
	b.mu.Unlock()
	b.wakeAll(woken)
}

// end ends a wait. A second call does nothing.
func (w *wait) end() {
	if w.account == nil {
		return
	}
	b := w.account.budget
	b.mu.Lock()
	if _, waits := b.waits[w]; waits {
		w.account.tardy = w.old
		b.remove(w)
	}
	woken := b.next()
	b.mu.Unlock()
	b.wakeAll(woken)
}

// remove takes a wait off its account. The caller holds the lock.
func (b *budget) remove(w *wait) {
	w.timer.Stop()
	delete(b.waits, w)
	w.account.held--
	if w.old {
		w.account.old--
	}
}

// next returns who of those that were refused finds a place now, and no longer queues them. The caller holds the lock.
func (b *budget) next() []watch.Owner {
	if len(b.queue) == 0 {
		return nil
	}
	var woken []watch.Owner
	u, held := b.used(), map[*account]int{}
	b.queue = slices.DeleteFunc(b.queue, func(q queued) bool {
		if !b.admits(q.account, q.account.held+held[q.account], u) {
			return false
		}
		held[q.account]++
		u.all++
		if q.account.isSlow() {
			u.slow++
		}
		delete(b.queuing, q.owner)
		woken = append(woken, q.owner)
		return true
	})
	return woken
}

func (b *budget) wakeAll(owners []watch.Owner) {
	for _, o := range owners {
		b.wake(o)
	}
}
