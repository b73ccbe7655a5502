package fence

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock returns a lock that records in the Fence what the leader election learns. The client of the inner lock must not be behind the Fence.
func (f *Fence) Lock(inner resourcelock.Interface) resourcelock.Interface {
	return &lock{Interface: inner, fence: f}
}

type lock struct {
	resourcelock.Interface

	fence *Fence
}

// Get reads the Lease. Another holder than this replica, while it leads, ends it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.fence.leads() {
		l.fence.end()
		l.fence.lost(record.HolderIdentity)
	}
	return record, raw, err
}

// Create creates the Lease, held by this replica.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update acquires, renews or releases the Lease. A release is sent after the last write.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.end()
		return l.Interface.Update(ctx, record)
	}
	return l.renew(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *lock) renew(record resourcelock.LeaderElectionRecord, send func() error) error {
	sent := l.fence.now()
	if err := send(); err != nil {
		return err
	}
	l.fence.renewed(sent, time.Duration(record.LeaseDurationSeconds)*time.Second)
	return nil
}
