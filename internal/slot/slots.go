package slot

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// An observer finds out which Leases are held, by for how long it has seen them as they are.
type observer struct {
	client    coordinationclient.LeasesGetter
	namespace string
	id        string
	identity  string // of the process, whose own Leases are not in its way
	now       func() time.Duration
	seen      map[string]sighting // by the name of the Lease
}

// A sighting is the version of a Lease when it was seen last, and since when it has that version.
type sighting struct {
	version string
	since   time.Duration
}

func newObserver(o Options) *observer {
	started := time.Now()
	return &observer{
		client: o.Client, namespace: o.Namespace, id: o.ID, identity: o.Config.Identity, seen: map[string]sighting{},
		now: func() time.Duration { return time.Since(started) },
	}
}

func nameOf(id string, number, slot int) string { return fmt.Sprintf("%s-%d-%d", id, number, slot) }

// numberOf returns the number of slots of the processes that hold the Lease of a name, 0 if it is none of ours.
func (o *observer) numberOf(name string) int {
	if name == o.id {
		return 1
	}
	var number, slot int
	_, _ = fmt.Sscanf(strings.TrimPrefix(name, o.id), "-%d-%d", &number, &slot) // What does not fit has another name.
	if number < 2 || nameOf(o.id, number, slot) != name {
		return 0
	}
	return number
}

// A lease is one of our Leases as the control plane lists it.
type lease struct {
	name   string
	number int // of slots
	record record
	raw    []byte // its version, by which client-go sees that it changes
	held   bool
}

// leases are all Leases of an ID, of any number of slots.
type leases []lease

// named returns the Lease of a name, one that nobody holds if there is none.
func (s leases) named(name string) lease {
	if i := slices.IndexFunc(s, func(x lease) bool { return x.name == name }); i >= 0 {
		return s[i]
	}
	return lease{}
}

// list returns all Leases of the ID.
func (o *observer) list(ctx context.Context) (leases, error) {
	// Without a resourceVersion the answer is as new as the request.
	found, err := o.client.Leases(o.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot list Leases")
	}
	var all leases
	for i := range found.Items {
		if number := o.numberOf(found.Items[i].Name); number > 0 {
			all = append(all, o.see(&found.Items[i], number))
		}
	}
	return all, nil
}

// see remembers since when a Lease is as it is. It is held as long as its holder may have renewed it within its
// duration.
func (o *observer) see(found *coordinationv1.Lease, number int) lease {
	x := lease{
		name: found.Name, number: number, raw: []byte(found.ResourceVersion),
		record: *resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec),
	}
	now := o.now()
	if o.seen[x.name].version != found.ResourceVersion {
		o.seen[x.name] = sighting{version: found.ResourceVersion, since: now}
	}
	end := o.seen[x.name].since + time.Duration(x.record.LeaseDurationSeconds)*time.Second
	holder := x.record.HolderIdentity
	x.held = holder != "" && holder != o.identity && !strings.HasPrefix(holder, passed) && now < end
	return x
}

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
