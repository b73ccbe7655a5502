package slot

import (
	"hash/fnv"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// none is the slot of a process that holds no Lease.
const none = -1

// Slots are the slots of a number, and which of them is that of this process. Its methods may be called concurrently. A
// nil *Slots is one slot for all, that of this process.
type Slots struct {
	number int
	mine   atomic.Int32
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

// Metrics returns a collector of which slot is that of this process, by the word of the flag, if there are several. Its
// value is their number.
func (s *Slots) Metrics() prometheus.Collector {
	desc := prometheus.NewDesc("provider_kcp_shard",
		"The shard of this replica, where replicas share the work. The value is the number of shards.",
		[]string{"shard"}, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if s != nil && s.mine.Load() != none {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(s.number), strconv.Itoa(int(s.mine.Load())))
		}
	})
}
