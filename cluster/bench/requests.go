package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

const (
	// quiet is how long the provider must ask nothing to count as settled, and settleTimeout how long it may take until
	// then.
	quiet         = 3 * time.Second
	settleTimeout = 5 * time.Minute
	auditInterval = 200 * time.Millisecond
)

// A mark is a point in the order of the requests to each server.
type mark []int64

// A tally counts requests by what they are, such as "patch objects.kubernetes.crossplane.io/status".
type tally map[string]int

// A traffic is what the provider has asked of each server.
type traffic [][]local.AuditEvent

func (b *bed) mark() (m mark, err error) {
	m = make(mark, len(b.servers))
	for i, s := range b.servers {
		if m[i], err = local.AuditEnd(s.audit); err != nil {
			return m, err
		}
	}
	return m, nil
}

// since returns what the provider has asked since a mark, without leases, which come by the clock, and what kcp asks
// itself in its name.
func (b *bed) since(m mark) (t traffic, err error) {
	t = make(traffic, len(b.servers))
	for i, s := range b.servers {
		if t[i], err = s.askedSince(m[i]); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (s *server) askedSince(offset int64) ([]local.AuditEvent, error) {
	events, _, err := local.ReadAuditFrom(s.audit, offset)
	return slices.DeleteFunc(events,
		func(e local.AuditEvent) bool { return !by(e, s.user) || e.Resource == "leases" || e.Forwarded }), err
}

// by reports whether a user has made a request, or one of several whose names begin so.
func by(e local.AuditEvent, name string) bool {
	return e.User == name || strings.HasPrefix(e.User, name+"-")
}

// settle waits until the provider has asked nothing for a while but to watch.
func (b *bed) settle(ctx context.Context) error {
	end := time.Now().Add(settleTimeout)
	begin, err := b.mark()
	if err != nil {
		return err
	}
	var asked tally
	for last := time.Now(); time.Since(last) < quiet; {
		if time.Now().After(end) {
			return errors.Errorf("provider does not settle within %s, and asked last: %v", settleTimeout, asked)
		}
		if err := pause(ctx, auditInterval); err != nil {
			return err
		}
		t, err := b.since(begin)
		if err != nil {
			return err
		}
		now := requests(slices.Concat(t...))
		if now.sum() == 0 {
			continue
		}
		last, asked = time.Now(), now
		if begin, err = b.mark(); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for a time that is to be measured, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func isWatch(e local.AuditEvent) bool { return e.Verb == "watch" }

func isWrite(e local.AuditEvent) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// isEvent reports whether a request is about an event for people.
func isEvent(e local.AuditEvent) bool { return e.Resource == "events" }

func count(events []local.AuditEvent, which func(local.AuditEvent) bool) tally {
	c := tally{}
	for _, e := range events {
		if which(e) {
			c[what(e)]++
		}
	}
	return c
}

// requests counts all but watches.
func requests(events []local.AuditEvent) tally {
	return count(events, func(e local.AuditEvent) bool { return !isWatch(e) })
}

func (t tally) sum() int {
	n := 0
	for _, c := range t {
		n += c
	}
	return n
}

// most returns what was counted, the most frequent first.
func (t tally) most() []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		if t[a] != t[b] {
			return t[b] - t[a]
		}
		return strings.Compare(a, b)
	})
}

// what names a request, with its status code if it failed.
func what(e local.AuditEvent) string {
	if e.Code >= http.StatusBadRequest {
		return fmt.Sprintf("%s %s, answered %d", e.Verb, e.Subject(), e.Code)
	}
	return e.Verb + " " + e.Subject()
}
