package publication

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// namespaceLocks keep the publications of one service cluster from deleting a namespace that one of them has found
// empty and another one creates something in. Namespaces share locks: it costs less that one stays for a while because
// of another than to know which are in use.
type namespaceLocks [1024]namespaceLock

// A namespaceLock is that of some namespaces.
type namespaceLock struct {
	mu      sync.RWMutex // held for reading during a creation, for writing during the deletion of a namespace
	created atomic.Int64 // how many creations are over
}

var namespaceSeed = maphash.MakeSeed()

func (l *namespaceLocks) of(namespace string) *namespaceLock {
	return &l[maphash.String(namespaceSeed, namespace)%uint64(len(l))]
}

// create creates something in a namespace.
func (l *namespaceLock) create(create func() error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	defer l.created.Add(1) // Before the lock is given up.
	return create()
}

// deleteIfEmpty deletes a namespace if it is empty and nothing has been created in it since that was looked at, and
// reports whether it has.
func (l *namespaceLock) deleteIfEmpty(empty func() (bool, error), remove func() error) (cleared bool, err error) {
	before := l.created.Load()
	if ok, err := empty(); err != nil || !ok {
		return false, err
	}
	if !l.mu.TryLock() {
		return false, nil // Something is being created.
	}
	defer l.mu.Unlock()
	if l.created.Load() != before {
		return false, nil // What was created may still be there.
	}
	return true, remove()
}
