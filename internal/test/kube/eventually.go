package kube

import (
	"testing"
	"time"
)

// pollMin and pollMax bound the pause between two checks of what is waited for. It is one pollShare-th of what has been
// waited so far, so that what is measured is late by no more than that, and that servers are not kept busy by who waits
// for them.
const (
	pollMin   = 10 * time.Millisecond // also of what must not happen, be it for a moment
	pollMax   = 250 * time.Millisecond
	pollShare = 10
)

func pause(waited time.Duration) time.Duration { return min(max(waited/pollShare, pollMin), pollMax) }

// Deadline is how long a test waits for what must happen. It says nothing of how fast that is, as small and shared
// machines are several times slower than others.
const Deadline = 2 * time.Minute

// Eventually calls check until it says ok, at least once, and fails the test at the Deadline. The failure says what was
// waited for, which completes the words "waiting for", and the state that check returned last.
func Eventually(tb testing.TB, what string, check func() (ok bool, state string)) {
	tb.Helper()
	EventuallyBy(tb, Deadline, what, check)
}

// EventuallyBy is Eventually with a deadline of its own: a longer one for what rests for minutes or is of thousands,
// and a shorter one where something else would make it so later.
func EventuallyBy(tb testing.TB, deadline time.Duration, what string, check func() (ok bool, state string)) {
	tb.Helper()
	begin := time.Now()
	for {
		ok, state := check()
		if ok {
			return
		}
		if time.Since(begin) > deadline {
			tb.Fatalf("gave up waiting for %s after %s, last state: %s", what, deadline, state)
		}
		time.Sleep(pause(time.Since(begin)))
	}
}

// passes is how often what could do something has had its turn before it counts as not done.
const passes = 3

// Holds fails the test if check does not say ok. pass returns when what could make it so has had its turn once more,
// such as when something that came after it in the same queue is done.
func Holds(tb testing.TB, what string, check func() (ok bool, state string), pass func()) {
	tb.Helper()
	for n := range passes + 1 {
		if ok, state := check(); !ok {
			tb.Fatalf("%s: it did not stay so, state: %s", what, state)
		}
		if n < passes {
			pass()
		}
	}
}

// Throughout calls check again and again for as long as a window lasts, and fails the test as soon as it does not say
// ok. It is for what is promised of a time, such as a rate. For all else there is Holds.
func Throughout(tb testing.TB, window time.Duration, what string, check func() (ok bool, state string)) {
	tb.Helper()
	for end := time.Now().Add(window); time.Now().Before(end); time.Sleep(pollMin) {
		if ok, state := check(); !ok {
			tb.Fatalf("%s: it did not stay so for %s, state: %s", what, window, state)
		}
	}
}
