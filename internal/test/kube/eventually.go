package kube

import (
	"testing"
	"time"
)

const pollInterval = 10 * time.Millisecond

// Eventually calls check until it says ok, at least once, and fails the test at the deadline. The failure says what was
// waited for, which completes the words "waiting for", and the state that check returned last.
func Eventually(tb testing.TB, deadline time.Duration, what string, check func() (ok bool, state string)) {
	tb.Helper()
	end := time.Now().Add(deadline)
	for {
		ok, state := check()
		if ok {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("gave up waiting for %s after %s, last state: %s", what, deadline, state)
		}
		time.Sleep(pollInterval)
	}
}
