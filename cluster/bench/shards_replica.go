package main

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// replicated is what is measured of one replica.
type replicated struct {
	configs   int
	watches   [2]int        // on the control plane and on targets
	start     time.Duration // CPU from the start until all is settled
	rest      time.Duration // CPU at rest
	peak, rss int64         // bytes: until all is settled, and at rest
	heap      int64         // bytes: live at the last garbage collection
}

// takeStock notes what each replica has done since a mark that is older than it.
func (b *shardsBench) takeStock(begin mark, got *sharing) (err error) {
	t, err := b.since(begin)
	if err != nil {
		return err
	}
	for _, e := range slices.Concat(t...) {
		got.settled = max(got.settled, e.Time.Sub(got.start))
	}
	for _, r := range b.replicas {
		r.countWatches(t, b.options.configs)
		if r.got.start, err = r.CPU(); err != nil {
			return err
		}
		if r.got.peak, err = r.PeakRSS(); err != nil {
			return err
		}
	}
	return nil
}

// countWatches counts the watches of a replica, and finds which of n ProviderConfigs are its own: it has written the
// statuses of their Objects.
func (r *replica) countWatches(t traffic, n int) {
	mine := slices.DeleteFunc(slices.Clone(t[0]), func(e local.AuditEvent) bool { return e.User != r.user })
	r.got.watches[0] = count(mine, isWatch).sum()
	for i := range n {
		if !slices.ContainsFunc(mine, func(e local.AuditEvent) bool {
			return isWrite(e) && e.Name == named(object, i)
		}) {
			continue
		}
		r.mine = append(r.mine, i)
		r.got.watches[1] += count(slices.Concat(t[1:]...), func(e local.AuditEvent) bool {
			return isWatch(e) && e.User == named(user, i)
		}).sum()
	}
	r.got.configs = len(r.mine)
}

// takeRest lets nothing happen for a while.
func (b *shardsBench) takeRest(ctx context.Context, got *sharing) error {
	begin, err := b.mark()
	if err != nil {
		return err
	}
	before := map[*replica]time.Duration{}
	for _, r := range b.replicas {
		if before[r], err = r.CPU(); err != nil {
			return err
		}
	}
	if err := pause(ctx, syncRestTime); err != nil {
		return err
	}
	for _, r := range b.replicas {
		after, err := r.CPU()
		if err != nil {
			return err
		}
		r.got.rest = after - before[r]
		if r.got.rss, err = r.RSS(); err != nil {
			return err
		}
		if r.got.heap, err = liveHeap(ctx, r.Process); err != nil {
			return err
		}
	}
	t, err := b.since(begin)
	got.requests = requests(slices.Concat(t...))
	return err
}
