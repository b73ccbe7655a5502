package slot

import (
	"context"
	"hash/fnv"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// none is the slot of a process that holds no Lease.
	none = -1
	// vacantAfter is how long nobody has taken a slot that is vacant: longer than its next holder takes to start.
	vacantAfter = 30 * time.Second
)

// Slots are the slots of a number, and which of them is that of this process. Its methods may be called concurrently. A
// nil *Slots is one slot for all, that of this process.
type Slots struct {
	number int
	mine   atomic.Int32

	mu     sync.Mutex
	others *observer // once there is a Lock
	seen   leases    // by others, when it looked last
	looked time.Duration
}

// New returns Slots of a number, none of which is that of this process yet. It returns nil for one slot.
func New(number int) *Slots {
	if number <= 1 {
		return nil
	}
	s := &Slots{number: number}
	s.mine.Store(none)
	return s
}

// Owns reports whether the ProviderConfig of a key is in the slot of this process. The key is empty for what goes
// through no ProviderConfig.
func (s *Slots) Owns(key string) bool {
	return s == nil || s.Of(key) == int(s.mine.Load())
}

// Of returns the slot of the ProviderConfig of a key: FNV-1a of the key, modulo the number of slots. Slot 0 also has
// what goes through no ProviderConfig.
func (s *Slots) Of(key string) int {
	if s == nil || key == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))              // A hash takes everything.
	return int(h.Sum32() % uint32(s.number)) //nolint:gosec // A number of slots is small.
}

// Vacant reports whether no process has had the Lease of a slot for some time. It lists Leases every 5 s at most.
func (s *Slots) Vacant(ctx context.Context, slot int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.others.now()
	if s.seen == nil || now-s.looked >= 5*time.Second {
		all, err := s.others.list(ctx)
		if err != nil {
			return false, err
		}
		s.seen, s.looked = all, now
	}
	name := nameOf(s.others.id, s.number, slot)
	return !s.seen.named(name).held && now-s.others.seen[name].since >= vacantAfter, nil
}

// Metrics returns a collector of which slot is that of this process, if there are several. Its value is their number.
func (s *Slots) Metrics() prometheus.Collector {
	desc := prometheus.NewDesc("provider_kcp_slot",
		"The slot of this replica, where replicas share the work. The value is the number of slots.",
		[]string{"slot"}, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if s != nil && s.mine.Load() != none {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(s.number), strconv.Itoa(int(s.mine.Load())))
		}
	})
}
