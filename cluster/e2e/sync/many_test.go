package sync_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// overtaking is how many of a backlog may be placed between the request for a new object of another workspace and its
// copy: those under way, and those of the time that the request and its news take. In a queue without turns it would be
// all.
const overtaking = 500

// TestRestart shows that a provider that is killed in the middle of a thousand new objects, and starts again, makes a
// copy of each. One that starts with all of them standing rewrites none, and asks nothing when it is done.
func TestRestart(t *testing.T) {
	const many = 1000
	s := open(t, 2)
	old, other := s.consumers[0], s.consumers[1]
	s.create(t, other, "first", 1) // It has the namespace made.
	s.awaitCopies(t, other, 1)
	created := make(chan error, 1)
	go func() { created <- s.createAll(t.Context(), old, "hat", many) }()
	kube.Eventually(t, "the middle of the work", func() (bool, string) {
		got := len(s.copies(t, old))
		return got > many/4, strconv.Itoa(got)
	})
	s.provider.Kill()
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	if got := len(s.copies(t, old)); got == many {
		t.Fatal("the provider had done all before it was killed")
	}
	s.start(t)
	s.awaitCopies(t, old, many)
	awaitSilence(t)

	s.provider.Kill()
	m := mark(t)
	s.start(t)
	s.create(t, other, "new", 1)
	s.awaitCopies(t, other, 2)
	awaitSilence(t)
	for server, c := range map[string]struct {
		asked kube.Requests
		want  map[string]int
	}{
		"kcp": {asked: m.inKCP(t), want: map[string]int{"patch hats." + s.group: 1}},
		"the service cluster": {
			asked: m.onService(t),
			want:  map[string]int{"create hats." + s.group: 1, "create secrets": 1},
		},
	} {
		if diff := cmp.Diff(c.want, about(c.asked).Writes().Count()); diff != "" {
			t.Errorf("writes to %s: -want, +got:\n%s", server, diff)
		}
	}
	if n := len(s.copies(t, old)); n != many {
		t.Errorf("copies after two starts: want %d, got %d", many, n)
	}
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
	before := len(s.copies(t, busy))
	if before+overtaking >= backlog {
		t.Fatalf("%d of %d have been placed: too few are left to compete with", before, backlog)
	}
	s.create(t, other, "new", 1)
	s.awaitCopies(t, other, 2)
	if placed := len(s.copies(t, busy)) - before; placed > overtaking {
		t.Errorf("%d of the backlog were placed before a new object of another workspace", placed)
	}
	s.awaitCopies(t, busy, backlog)
}
