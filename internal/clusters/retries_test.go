package clusters

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

var errBoom = errors.New("boom")

// A wokenList is the names of the owners that were woken.
type wokenList struct {
	mu    sync.Mutex
	names []string
}

// newRecordedRetries returns retries, and the owners that they have woken.
func newRecordedRetries() (*retries, *wokenList) {
	woken := &wokenList{}
	return &retries{failed: map[informer.Owner]failed{}, wake: func(o informer.Owner) {
		woken.mu.Lock()
		defer woken.mu.Unlock()
		woken.names = append(woken.names, o.Name)
	}}, woken
}

// get returns the names in the order in which they were woken.
func (l *wokenList) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.names)
}

func owner(n int) informer.Owner {
	return informer.Owner{NamespacedName: types.NamespacedName{Name: strconv.Itoa(n)}}
}

// failLong has an owner be refused until its retries are put off. What the server says of each is another text.
func failLong(f *retries, o informer.Owner, work string) {
	for range soonRetries + 1 {
		f.RetryAfter(o, errors.Wrap(apierrors.NewForbidden(configMaps.GroupResource(), o.Name, errBoom), "cannot"), work)
	}
}

// TestRetriesArePutOff shows for how long retries are put off, by how many owners fail alike and at all.
func TestRetriesArePutOff(t *testing.T) {
	const samples = 2000
	for name, tc := range map[string]struct {
		reason           string
		alike, otherwise int // beside the owner
		want             time.Duration
	}{
		"One":       {reason: "One is tried every few seconds.", want: putOffLeast},
		"Otherwise": {reason: "A few that fail otherwise change nothing.", otherwise: 9, want: putOffLeast},
		"Alike":     {reason: "One of those that fail alike is tried in a second.", alike: 39, want: 40 * time.Second},
		"ManyAlike": {reason: "None of them rests for longer than that.", alike: 299, want: putOffMost},
		"Many": {
			reason: "Of very many, few are tried in a second.", alike: 799, otherwise: 200, want: 250 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := newRecordedRetries()
			one := owner(0)
			for n := range soonRetries {
				if got := f.RetryAfter(one, errBoom, "cause"); got != 0 {
					t.Errorf("retry %d is put off for %s", n, got)
				}
			}
			for n := range tc.alike + tc.otherwise {
				if n < tc.alike {
					f.RetryAfter(owner(n+1), errBoom, "cause")
					continue
				}
				f.RetryAfter(owner(n+1), errBoom, strconv.Itoa(n))
			}
			sum, least := time.Duration(0), time.Hour
			for range samples {
				got := f.RetryAfter(one, errBoom, "cause")
				sum, least = sum+got, min(least, got)
			}
			if mean := sum / samples; mean < tc.want*9/10 || mean > tc.want*11/10+putOffJitter {
				t.Errorf("%s Want %s on average, got %s", tc.reason, tc.want, mean)
			}
			if least < putOffLeast || least > 2*putOffLeast {
				t.Errorf("Want some soon, got none before %s", least)
			}
		})
	}
}

// TestRetriesOfTenants shows that what fails in one namespace, however much it is, puts off nothing of another, also
// where they share a connection.
func TestRetriesOfTenants(t *testing.T) {
	const crowd = 2000
	f, _ := newRecordedRetries()
	for n := range crowd {
		o := owner(n)
		o.Namespace = "crowded"
		f.RetryAfter(o, errBoom, "cause")
	}
	one := owner(0)
	one.Namespace = "neighbour"
	for n := range soonRetries {
		if got := f.RetryAfter(one, errBoom, "cause"); got != 0 {
			t.Errorf("retry %d is put off for %s", n, got)
		}
	}
	if got := f.RetryAfter(one, errBoom, "cause"); got > 2*putOffLeast {
		t.Errorf("want a retry every few seconds after that, got one after %s", got)
	}
}

// TestRetriesWake shows that all that fail alike are woken when one of them succeeds, two by each success, and no
// others.
func TestRetriesWake(t *testing.T) {
	const members = 100
	f, woken := newRecordedRetries()
	for n := range members {
		failLong(f, owner(n), "cause")
	}
	failLong(f, owner(members), "other cause")
	f.Succeeded(owner(0))
	if got := woken.get(); len(got) != wokenAtOnce {
		t.Fatalf("want %d owners woken, got %v", wokenAtOnce, got)
	}
	succeeded := 0
	for succeeded < len(woken.get()) { // Each that is woken succeeds, too.
		o := owner(0)
		o.Name = woken.get()[succeeded]
		f.Succeeded(o)
		succeeded++
	}
	names := woken.get()
	slices.Sort(names)
	if got := len(slices.Compact(names)); got != members-1 {
		t.Errorf("want %d owners woken, got %d", members-1, got)
	}
	if len(f.failed) != 1 {
		t.Errorf("want only what still fails to be kept, got %v", f.failed)
	}
}

// TestRetriesChange shows that an owner which fails otherwise, or is forgotten, starts anew.
func TestRetriesChange(t *testing.T) {
	for name, change := range map[string]func(f *retries, o informer.Owner){
		"Forgotten":      func(f *retries, o informer.Owner) { f.forget(o) },
		"FailsOtherwise": func(f *retries, o informer.Owner) { f.RetryAfter(o, errBoom, "other cause") },
		"AnswerDiffers": func(f *retries, o informer.Owner) {
			f.RetryAfter(o, foreignError{code: http.StatusBadGateway}, "cause")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, woken := newRecordedRetries()
			failLong(f, owner(0), "cause")
			failLong(f, owner(1), "cause")
			change(f, owner(0))
			if got := f.RetryAfter(owner(0), errBoom, "cause"); got != 0 {
				t.Errorf("a new failure is put off for %s", got)
			}
			if got := woken.get(); got != nil {
				t.Errorf("nobody has succeeded, and woken is %v", got)
			}
		})
	}
}
