package publication

import (
	"hash/maphash"
	"sync"
)

// namespaceLocks keep the publications of one service cluster from deleting a namespace that one of them has found
// empty and another one creates something in. Who creates holds the lock of the namespace for reading, who looks
// whether it is empty for writing. Namespaces share locks: it costs less that a creation waits for the look at another
// one than to know which are in use.
type namespaceLocks [8192]sync.RWMutex

var namespaceSeed = maphash.MakeSeed()

func (l *namespaceLocks) of(namespace string) *sync.RWMutex {
	return &l[maphash.String(namespaceSeed, namespace)%uint64(len(l))]
}
