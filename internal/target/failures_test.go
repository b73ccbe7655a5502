package target

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// A wokenList is the names of the owners that were woken.
type wokenList struct {
	mu    sync.Mutex
	names []string
}

// newRecordedFailures returns failures, and the owners that they have woken.
func newRecordedFailures() (*failures, *wokenList) {
	woken := &wokenList{}
	f := newFailures(func(o informer.Owner) {
		woken.mu.Lock()
		defer woken.mu.Unlock()
		woken.names = append(woken.names, o.Name)
	})
	return f, woken
}

// get returns the names in the order in which they were woken.
func (l *wokenList) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.names)
}

// failLong has an owner fail until its retries are put off, and returns for how long they are then.
func failLong(f *failures, o informer.Owner, cause string) time.Duration {
	var delay time.Duration
	for range soonRetries + 1 {
		delay = f.retryAfter(o, cause)
	}
	return delay
}

// TestFailuresArePutOff shows that one owner stands for all that fail alike, and that the retries of the others are put
// off ever longer.
func TestFailuresArePutOff(t *testing.T) {
	f, _ := newRecordedFailures()
	one, other := owner("target", 1), owner("target", 2)
	if got := f.retryAfter(one, "cause"); got != 0 {
		t.Errorf("the first retry is put off for %s", got)
	}
	failLong(f, one, "cause")
	failLong(f, other, "cause")
	var pauses []time.Duration
	for range 6 {
		pauses = append(pauses, f.retryAfter(other, "cause"))
	}
	want := []time.Duration{
		8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, putOffMost, putOffMost,
	}
	for i, least := range want {
		if got := pauses[i]; got < least || got > least+least/4 {
			t.Errorf("pause %d: want %s and up to a quarter more, got %s", i, least, got)
		}
	}
	if got := f.retryAfter(one, "cause"); got < putOffFirst || got > 2*putOffFirst {
		t.Errorf("the one that stands for all is put off for %s, want about %s", got, putOffFirst)
	}
}

// TestFailuresOfManyRest shows that owners which are refused for ever cost their target few requests, however many they
// are, and few of each cause.
func TestFailuresOfManyRest(t *testing.T) {
	const owners, most = 1000, 5.0
	for name, causes := range map[string]int{"Alike": 1, "EachOtherwise": owners} {
		t.Run(name, func(t *testing.T) {
			f, _ := newRecordedFailures()
			cause := func(n int) string { return strconv.Itoa(n % causes) }
			for n := range owners {
				failLong(f, owner("target", n), cause(n))
			}
			retries := 0.0 // in a second
			for n := range owners {
				retries += 1 / f.retryAfter(owner("target", n), cause(n)).Seconds()
			}
			if retries > most {
				t.Errorf("want at most %.0f retries in a second, got %.1f", most, retries)
			}
		})
	}
}

// TestFailuresWake shows that all that fail alike are woken when one of them succeeds, two by each success, and no
// others.
func TestFailuresWake(t *testing.T) {
	const members = 100
	f, woken := newRecordedFailures()
	for n := range members {
		failLong(f, owner("target", n), "cause")
	}
	failLong(f, owner("other", 0), "other cause")
	f.succeeded(owner("target", 0))
	if got := woken.get(); len(got) != wokenAtOnce {
		t.Fatalf("want %d owners woken, got %v", wokenAtOnce, got)
	}
	succeeded := 0
	for succeeded < len(woken.get()) { // Each that is woken succeeds, too.
		o := owner("target", 0)
		o.Name = woken.get()[succeeded]
		f.succeeded(o)
		succeeded++
	}
	names := woken.get()
	slices.Sort(names)
	if got := len(slices.Compact(names)); got != members-1 {
		t.Errorf("want %d owners woken, got %d", members-1, got)
	}
	if len(f.groups) != 1 || len(f.owners) != 1 {
		t.Errorf("want only what still fails to be kept, got %d groups and %d owners", len(f.groups), len(f.owners))
	}
}

// TestFailuresHandOver shows that another owner stands for all when the one that does goes, or fails otherwise.
func TestFailuresHandOver(t *testing.T) {
	for name, leave := range map[string]func(f *failures, o informer.Owner){
		"Forgotten":       func(f *failures, o informer.Owner) { f.forget(o) },
		"FailsOtherwise":  func(f *failures, o informer.Owner) { f.retryAfter(o, "other cause") },
		"FailsByNoAnswer": func(f *failures, o informer.Owner) { f.retryAfter(o, "") },
	} {
		t.Run(name, func(t *testing.T) {
			f, woken := newRecordedFailures()
			for n := range 3 {
				failLong(f, owner("target", n), "cause")
			}
			leave(f, owner("target", 0))
			eventually(t, "another to be woken", func() bool { return slices.Equal(woken.get(), []string{"1"}) })
			if got := f.retryAfter(owner("target", 1), "cause"); got > 2*putOffFirst {
				t.Errorf("the one that stands for all now is put off for %s", got)
			}
		})
	}
}

// TestFailuresForgetUnderLock shows that who forgets an owner may hold a lock that waking another takes, as the
// Registry does.
func TestFailuresForgetUnderLock(t *testing.T) {
	var held sync.Mutex
	var woken atomic.Bool
	f := newFailures(func(informer.Owner) {
		held.Lock()
		defer held.Unlock()
		woken.Store(true)
	})
	for n := range 2 {
		failLong(f, owner("target", n), "cause")
	}
	held.Lock()
	f.forget(owner("target", 0))
	held.Unlock()
	eventually(t, "the other to be woken", woken.Load)
}

// TestAnswerOf shows which errors are answers of a server, and which of them are alike.
func TestAnswerOf(t *testing.T) {
	forbidden := func(name string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name,
			errors.New("because of "+name))
	}
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Status": {
			reason: "A Status is, whatever it is about.",
			err:    errors.Wrap(forbidden("a"), "cannot"),
			want:   "403Forbidden",
		},
		"AnotherObject": {reason: "The name makes no difference.", err: forbidden("b"), want: "403Forbidden"},
		"Foreign": {
			reason: "What a proxy says is.",
			err:    errors.Wrap(foreignError{code: 502}, "cannot"),
			want:   "502",
		},
		"Ours": {reason: "What we say is not.", err: errors.New("invalid manifest")},
		"None": {reason: "No error is none."},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, answerOf(tc.err)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
