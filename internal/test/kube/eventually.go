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

// Eventually calls check until it says ok, at least once, and fails the test at the deadline. The failure says what was
// waited for, which completes the words "waiting for", and the state that check returned last.
func Eventually(tb testing.TB, deadline time.Duration, what string, check func() (ok bool, state string)) {
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

// Throughout calls check again and again for as long as a window lasts, and fails the test as soon as it does not say
// ok. It is for what must not happen: the window must be longer than what would make it happen.
func Throughout(tb testing.TB, window time.Duration, what string, check func() (ok bool, state string)) {
	tb.Helper()
	for end := time.Now().Add(window); time.Now().Before(end); time.Sleep(pollMin) {
		if ok, state := check(); !ok {
			tb.Fatalf("%s: it did not stay so for %s, state: %s", what, window, state)
		}
	}
}

// measurements is how often Within measures at most.
const measurements = 3

// Within measures how long something takes, and again if it takes longer than a limit. It fails the test if it never
// keeps to the limit: a machine that is busy with something else slows a program down, but hardly each time. What is
// measured must be done anew by each call.
func Within(tb testing.TB, limit time.Duration, what string, measure func() time.Duration) {
	tb.Helper()
	var took []time.Duration
	for range measurements {
		took = append(took, measure())
		if took[len(took)-1] <= limit {
			return
		}
	}
	tb.Errorf("%s: want it within %s, it took %s", what, limit, took)
}
