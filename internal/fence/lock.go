package fence

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock returns a lock that records in the Fence what the leader election learns. The client of the inner lock must not
// be behind the Fence.
func (f *Fence) Lock(inner resourcelock.Interface) resourcelock.Interface {
	return &lock{Interface: inner, fence: f}
}

type lock struct {
	resourcelock.Interface

	fence *Fence
}

// Get reads the Lease. If another than this replica holds it, while this one leads, the process ends.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.fence.leads() {
		l.fence.end()
		l.fence.lost("another replica has acquired the Lease: " + record.HolderIdentity)
	}
	return record, raw, err
}

// Create creates the Lease, held by this replica.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update acquires, renews or releases the Lease. A release is sent after the last write. A renewal that follows the
// last one too soon is not sent.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.end()
		return l.Interface.Update(ctx, record)
	}
	if l.fence.isFresh(durationOf(record)) {
		return nil
	}
	return l.write(ctx, record, l.Interface.Update)
}

// durationOf returns how long a Lease lasts after a renewal.
func durationOf(record resourcelock.LeaderElectionRecord) time.Duration {
	return time.Duration(record.LeaseDurationSeconds) * time.Second
}

// A writer creates or updates the Lease.
type writer = func(context.Context, resourcelock.LeaderElectionRecord) error

// write makes this replica the holder, unless the Lease has run out: then it releases the Lease, so that the next
// replica need not wait, and the process ends.
func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write writer) error {
	if l.fence.expired() {
		l.fence.end()
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // As client-go releases it.
		err := write(ctx, record)
		l.fence.lost("the Lease has expired")
		return err
	}
	sent := l.fence.now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.fence.renewed(sent, durationOf(record))
	return nil
}
