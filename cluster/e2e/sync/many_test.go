package sync_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// atRest is for how long nothing may be asked.
	atRest = 60 * time.Second
	// overtaking is how many of a backlog may be placed between the request for a new object of another workspace and
	// its copy: those under way, and those of the time that the request and its news take. In a queue without turns it
	// would be all.
	overtaking = 500
)

// TestRestart shows that a provider that starts with a thousand objects standing rewrites none of them and soon has
// time for a new one, and that it asks nothing when it is done.
func TestRestart(t *testing.T) {
	const many = 1000
	s := open(t, 2)
	old, other := s.consumers[0], s.consumers[1]
	s.create(t, old, "hat", many)
	s.awaitCopies(t, old, many)
	awaitSilence(t)
	s.create(t, other, "first", 1) // It has the namespace made.
	s.awaitCopies(t, other, 1)
	awaitSilence(t)

	m, n := mark(t), 0
	kube.Figure(t, "from readiness to the copy of a new object", func() time.Duration {
		s.provider.Kill()
		s.start(t)
		s.create(t, other, fmt.Sprintf("new-%d", n), 1)
		n++
		s.awaitReady(t)
		begin := time.Now()
		s.awaitCopies(t, other, 1+n)
		took := time.Since(begin)
		t.Logf("a new object has its copy %s after readiness", took)
		return took
	})
	awaitSilence(t)
	for server, c := range map[string]struct {
		asked kube.Requests
		want  map[string]int
	}{
		"kcp": {asked: m.inKCP(t), want: map[string]int{"patch hats." + s.group: n}},
		"the service cluster": {
			asked: m.onService(t),
			want:  map[string]int{"create hats." + s.group: n, "create secrets": n},
		},
	} {
		if diff := cmp.Diff(c.want, writes(about(c.asked)).Count()); diff != "" {
			t.Errorf("writes to %s: -want, +got:\n%s", server, diff)
		}
	}
	m = mark(t)
	kube.Throughout(t, atRest, "nothing is asked", func() (bool, string) {
		asked := append(m.onService(t), m.inKCP(t)...)
		return len(asked) == 0, asked.String()
	})
}

// TestFairness shows that a workspace does not wait for the backlog of another.
func TestFairness(t *testing.T) {
	const backlog = 2000
	s := open(t, 2)
	busy, other := s.consumers[0], s.consumers[1]
	s.create(t, other, "first", 1) // It has the namespace made.
	s.awaitCopies(t, other, 1)
	s.provider.Kill()
	s.create(t, busy, "hat", backlog)

	s.start(t)
	kube.Eventually(t, "the first of the backlog",
		func() (bool, string) { return len(s.copies(t, busy)) > 0, "none" })
	n := 0
	kube.Figure(t, "a new object beside a backlog", func() time.Duration {
		before, begin := len(s.copies(t, busy)), time.Now()
		if before+overtaking >= backlog {
			t.Fatalf("%d of %d have been placed: too few are left to compete with", before, backlog)
		}
		s.create(t, other, fmt.Sprintf("new-%d", n), 1)
		n++
		s.awaitCopies(t, other, 1+n)
		took := time.Since(begin)
		if placed := len(s.copies(t, busy)) - before; placed > overtaking {
			t.Errorf("%d of the backlog were placed before a new object of another workspace", placed)
		}
		t.Logf("a new object has its copy after %s", took)
		return took
	})
	s.awaitCopies(t, busy, backlog)
}

// awaitReady waits until the provider says that it is ready.
func (s *shop) awaitReady(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "the provider to be ready", func() (bool, string) {
		r, err := http.Get(s.provider.Readyz()) //nolint:noctx // A test.
		if err != nil {
			return false, err.Error()
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
}
