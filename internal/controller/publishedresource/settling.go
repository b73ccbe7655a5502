package publishedresource

import (
	"cmp"
	"time"
)

// settleMax is how long kcp may take to cure a problem that each publication has for a moment, before it is told: to
// make an APIExportEndpointSlice, to serve a kind at an endpoint, and to establish an API in a workspace that binds it.
const settleMax = 30 * time.Second

// lasting makes some problems all that there are, and returns which of them have lasted for settleMax, and how long it
// takes until another one will have, zero if none is left.
func (m *memory) lasting(problems []string, now time.Time) (lasting map[string]bool, next time.Duration) {
	was := m.problems
	m.problems, lasting = map[string]time.Time{}, map[string]bool{}
	for _, p := range problems {
		since, known := was[p]
		if !known {
			since = now
		}
		m.problems[p] = since
		left := since.Add(settleMax).Sub(now)
		if left <= 0 {
			lasting[p] = true
			continue
		}
		next = min(cmp.Or(next, left), left)
	}
	return lasting, next
}
