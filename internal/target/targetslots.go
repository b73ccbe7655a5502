package target

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// promptly is how long a reconcile may wait for an answer until the target counts as slow.
	promptly = 250 * time.Millisecond
	// silentAfter is how long a target may answer nothing, while a reconcile waits, until it counts as silent.
	silentAfter = time.Second
	// forgiveAfter is how long a target that was silent must answer until that no longer limits its credit.
	forgiveAfter = time.Minute
	// maxSilences bounds how often the credit of a target is halved.
	maxSilences = 6
)

// targetSlots are what one target has of the workerSlots, whose lock guards it. A nil one, of a cluster that is not
// limited, never refuses.
type targetSlots struct {
	all *workerSlots

	used   int                // slots in use
	called int                // owners that were woken lately and have not come yet
	waits  map[*wait]struct{} // what reconciles wait for now
	queue  []informer.Owner   // who was refused, in order
	queued map[informer.Owner]struct{}

	// credit is how many reconciles may run at a time. It begins at one, and each answer adds one: a target that nobody
	// knows cannot hold many workers, and one that answers has all it needs after a few round trips.
	credit   int
	tardy    bool      // the last answer was not prompt, or did not come
	answered time.Time // when the last whole answer came; zero if none has
	silent   time.Time // since when nothing is answered though a reconcile waits; zero if it is not so
	silences int       // how often the target was silent lately
	spoke    time.Time // when it last answered after it was silent
}

// newTargetSlots returns what a new target has: nothing is known of it.
func (s *workerSlots) newTargetSlots() *targetSlots {
	return &targetSlots{all: s, credit: 1, waits: map[*wait]struct{}{}, queued: map[informer.Owner]struct{}{}}
}

// A wait is the time during which a reconcile does nothing but wait for a target.
type wait struct {
	target *targetSlots
	owner  informer.Owner
	began  time.Time
	cancel context.CancelCauseFunc
}

// cut ends a wait early. Its reconcile fails with an error that satisfies IsQueued, and its owner is woken later. The
// caller holds the lock.
func (w *wait) cut(now time.Time) {
	w.target.enqueue(w.owner)
	w.cancel(w.target.newQueuedError(now))
}

// begin begins a wait of an owner. end must be called.
func (t *targetSlots) begin(o informer.Owner, cancel context.CancelCauseFunc) *wait {
	w := &wait{target: t, owner: o, began: time.Now(), cancel: cancel}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.waits[w] = struct{}{}
	t.all.targets[t] = struct{}{}
	t.all.tick()
	return w
}

// end ends a wait, and returns how long it was.
func (w *wait) end(o outcome) time.Duration {
	t, now := w.target, time.Now()
	s, took := t.all, now.Sub(w.began)
	s.mu.Lock()
	delete(t.waits, w)
	switch {
	case o == outcomeAnswered:
		t.answer(now, took)
	case o == outcomeFailed && took < promptly:
		t.speak(now)
	case took >= promptly:
		t.tardy = true
	}
	woken := s.next(now)
	s.settle(t)
	s.mu.Unlock()
	s.wakeAll(woken)
	return took
}

// speak notes that the target is not silent: it fails at once. The caller holds the lock.
func (t *targetSlots) speak(now time.Time) {
	if t.isSilent() {
		t.silent, t.credit, t.spoke = time.Time{}, 1, now
	}
}

// answer notes a whole answer. The caller holds the lock.
func (t *targetSlots) answer(now time.Time, took time.Duration) {
	t.speak(now)
	if now.Sub(t.spoke) > forgiveAfter {
		t.silences = 0
	}
	t.answered, t.tardy = now, took >= promptly
	t.grow()
}

// revive notes that the target answers again after it could not be reached: what was known of it is over.
func (t *targetSlots) revive() {
	if t == nil {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.silent = time.Time{}
}

// grow adds to the credit. The caller holds the lock.
func (t *targetSlots) grow() { t.credit = min(t.credit+1, max(1, t.all.maxEach()>>t.silences)) }

// observe notes whether the target has fallen silent. The caller holds the lock.
func (t *targetSlots) observe(now time.Time) {
	if t.isSilent() {
		return
	}
	oldest, waits := t.oldest()
	if !waits {
		return
	}
	since := oldest
	if t.answered.After(since) {
		since = t.answered
	}
	if now.Sub(since) < silentAfter {
		return
	}
	t.silent = since
	t.silences = min(t.silences+1, maxSilences)
}

// oldest returns since when the target keeps a reconcile waiting, if it does. The caller holds the lock.
func (t *targetSlots) oldest() (since time.Time, waits bool) {
	for w := range t.waits {
		if !waits || w.began.Before(since) {
			since, waits = w.began, true
		}
	}
	return since, waits
}

// isSilent reports whether the target answers nothing. The caller holds the lock.
func (t *targetSlots) isSilent() bool { return !t.silent.IsZero() }

// isSlow reports whether the target is silent, keeps a reconcile waiting, did so with the last answer, or has not
// answered yet. The caller holds the lock.
func (t *targetSlots) isSlow(now time.Time) bool {
	if t.isSilent() || t.tardy || t.answered.IsZero() {
		return true
	}
	oldest, waits := t.oldest()
	return waits && now.Sub(oldest) > promptly
}

// isUnreachable reports whether the target has been silent for so long that it is worth a word. One that is only busy
// is not: its reconciles come a moment later. The caller holds the lock.
func (t *targetSlots) isUnreachable(now time.Time) bool {
	return t.isSilent() && now.Sub(t.silent) > lateAfter
}

// hasCredit reports whether the target may have another slot by what is known of it. One that is silent may have one,
// and another one after each few seconds, in case that it answers new requests and only the old ones hang. The caller
// holds the lock.
func (t *targetSlots) hasCredit(now time.Time) bool {
	credit := t.credit
	if t.isSilent() {
		credit = min(credit, 1+int(now.Sub(t.silent)/lateAfter))
	}
	return t.used+t.called < credit
}

// enqueue has an owner woken when there is a slot for it. The caller holds the lock.
func (t *targetSlots) enqueue(o informer.Owner) {
	if _, waits := t.queued[o]; waits {
		return
	}
	if len(t.queue) == 0 {
		t.all.queue = append(t.all.queue, t)
	}
	t.queued[o] = struct{}{}
	t.queue = append(t.queue, o)
	t.all.targets[t] = struct{}{}
}

// dequeue returns who is next, for whom a slot is kept until the next observation. The caller holds the lock.
func (t *targetSlots) dequeue() informer.Owner {
	o := t.queue[0]
	t.queue = t.queue[1:]
	delete(t.queued, o)
	t.called++
	t.all.tick()
	return o
}

// close forgets the queue, as there is nothing any more that could be waited for.
func (t *targetSlots) close() {
	if t == nil {
		return
	}
	s := t.all
	s.mu.Lock()
	defer s.mu.Unlock()
	t.queue = nil
	clear(t.queued)
	s.queue = slices.DeleteFunc(s.queue, func(other *targetSlots) bool { return other == t })
	s.settle(t)
}

// forget takes an owner out of the queue.
func (t *targetSlots) forget(o informer.Owner) {
	if t == nil {
		return
	}
	s := t.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := t.queued[o]; !waits {
		return
	}
	delete(t.queued, o)
	t.queue = slices.DeleteFunc(t.queue, func(other informer.Owner) bool { return other == o })
	if len(t.queue) == 0 {
		s.queue = slices.DeleteFunc(s.queue, func(other *targetSlots) bool { return other == t })
	}
	s.settle(t)
}
