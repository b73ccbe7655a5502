package publishedresource

import (
	"cmp"
	"sync"
	"time"
)

// settleMax is how long kcp may take to cure a problem that each publication has for a moment, before it is told: to
// make an APIExportEndpointSlice, to serve a kind at an endpoint, and to establish an API in a workspace that binds it.
const settleMax = 30 * time.Second

// settling keeps since when there have been problems that kcp is about to cure.
type settling struct {
	mu    sync.Mutex
	since map[string]map[string]time.Time // by PublishedResource, by what tells problems apart
}

func newSettling() *settling { return &settling{since: map[string]map[string]time.Time{}} }

// lasting makes some problems all that a PublishedResource has, and returns which of them have lasted for settleMax,
// and how long it takes until another one will have, zero if none is left.
func (s *settling) lasting(name string, problems []string,
	now time.Time,
) (lasting map[string]bool, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, is := s.since[name], map[string]time.Time{}
	lasting = map[string]bool{}
	for _, p := range problems {
		since, known := was[p]
		if !known {
			since = now
		}
		is[p] = since
		left := since.Add(settleMax).Sub(now)
		if left <= 0 {
			lasting[p] = true
			continue
		}
		next = min(cmp.Or(next, left), left)
	}
	if s.since[name] = is; len(is) == 0 {
		delete(s.since, name)
	}
	return lasting, next
}

// forget forgets a PublishedResource.
func (s *settling) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, name)
}
