package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// An Audit counts the requests that a server has answered.
//
//	audit := target.Audit(t)
//	mark := audit.Mark()
//	...
//	got := audit.Since(mark).By("provider")
//	if diff := cmp.Diff(want, got.Count()); diff != "" {
//		t.Errorf("requests: -want, +got:\n%s\n%s", diff, got)
//	}
type Audit struct {
	tb   testing.TB
	path string
	last *reading
}

// A reading is what has been read of a log since a mark. Tests ask for the same again and again as the log grows.
type reading struct {
	mu     sync.Mutex
	since  Mark
	next   int64 // offset to go on from
	events Requests
}

// A Mark is a point in the order of a server's requests.
type Mark struct {
	offset int64 // in the log
	at     time.Time
}

// Requests are in the order in which the server answered them.
type Requests []local.AuditEvent

// Audit returns the server's audit.
func (s *Server) Audit(tb testing.TB) Audit {
	tb.Helper()
	return AuditOf(tb, s.cluster.AuditLog())
}

// AuditOf returns the audit of a server that logs to a file.
func AuditOf(tb testing.TB, path string) Audit {
	tb.Helper()
	return Audit{tb: tb, path: path, last: &reading{}}
}

// Mark returns the point behind all requests that have been made so far. What one of them does can be seen before it is
// answered, and thus before the log has its answer.
func (a Audit) Mark() Mark {
	a.tb.Helper()
	end, err := local.AuditEnd(a.path)
	if err != nil {
		a.tb.Fatal(err)
	}
	return Mark{offset: end, at: time.Now()}
}

// Since returns the requests made since m: all that a client has the whole answer of, without watches, and without
// leases, which come by the clock.
func (a Audit) Since(m Mark) Requests {
	a.tb.Helper()
	return a.choose(m, func(e local.AuditEvent) bool { return e.Verb != "watch" && e.Resource != "leases" })
}

// Watches returns the watches begun since m.
func (a Audit) Watches(m Mark) Requests {
	a.tb.Helper()
	return a.choose(m, func(e local.AuditEvent) bool { return e.Verb == "watch" })
}

// choose returns the wanted requests since m. If the last call had the same mark, it reads only what the log has got
// since then.
func (a Audit) choose(m Mark, wanted func(local.AuditEvent) bool) Requests {
	a.tb.Helper()
	r := a.last
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since != m || r.next == 0 {
		r.since, r.next, r.events = m, m.offset, nil
	}
	more, next, err := local.ReadAuditFrom(a.path, r.next)
	if err != nil {
		a.tb.Fatal(err)
	}
	r.next, r.events = next, append(r.events, more...)
	return r.events.That(func(e local.AuditEvent) bool { return wanted(e) && !e.Time.Before(m.at) })
}

// That returns the requests that a function wants.
func (r Requests) That(wanted func(local.AuditEvent) bool) Requests {
	var out Requests
	for _, e := range r {
		if wanted(e) {
			out = append(out, e)
		}
	}
	return out
}

// Writes returns the requests that change something, dry runs included.
func (r Requests) Writes() Requests {
	return r.That(func(e local.AuditEvent) bool { return e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" })
}

// By returns the requests of one user, without those that kcp makes in its name to do what it has asked for.
func (r Requests) By(user string) Requests {
	return r.That(func(e local.AuditEvent) bool { return e.User == user && !e.Forwarded })
}

// Count returns how many requests there are of each verb and resource, such as "get configmaps", "patch
// deployments.apps/status" and "get /openapi/v3". Nil if there are none.
func (r Requests) Count() map[string]int {
	var count map[string]int
	for _, e := range r {
		if count == nil {
			count = make(map[string]int)
		}
		count[e.Verb+" "+e.Subject()]++
	}
	return count
}

// String lists the counts and then each request, one a line.
func (r Requests) String() string {
	var b strings.Builder
	count := r.Count()
	for _, what := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "%6d %s\n", count[what], what)
	}
	for _, e := range r {
		fmt.Fprintf(&b, "%s %s: %s %s/%s %d\n", e.Time.Format("15:04:05.000"), e.User, e.Verb+" "+e.Subject(),
			e.Namespace, e.Name, e.Code)
	}
	return b.String()
}
