package collection

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// lag is for how long a reconcile waits for the cache to show our own writes. A cache that is later than that may never
// show them, because somebody has undone them meanwhile.
const lag = 5 * time.Second

// written remembers what was written of each collection until the cache shows it.
type written struct {
	now func() time.Time

	mu     sync.Mutex
	writes map[types.NamespacedName]map[string]write // by collection and name of the member
}

// A write is the last one to a member.
type write struct {
	uid     types.UID
	version string // the resource version after it, empty for a deletion
	at      time.Time
}

func newWritten() *written {
	return &written{now: time.Now, writes: map[types.NamespacedName]map[string]write{}}
}

// note remembers the write to the member of a name, and when it was.
func (w *written) note(collection types.NamespacedName, name string, last write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[collection] == nil {
		w.writes[collection] = map[string]write{}
	}
	last.at = w.now()
	w.writes[collection][name] = last
}

// forget forgets a collection.
func (w *written) forget(collection types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writes, collection)
}

// isShown reports whether cached members show all that was written, and forgets what they show.
func (w *written) isShown(collection types.NamespacedName, cached map[string]member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.writes[collection], func(name string, last write) bool {
		m, ok := cached[name]
		return w.now().Sub(last.at) > lag || last.isShownBy(m, ok)
	})
	if len(w.writes[collection]) > 0 {
		return false
	}
	delete(w.writes, collection)
	return true
}

// isShownBy reports whether a cached member, if it exists, shows a write or what came after it.
func (w write) isShownBy(m member, exists bool) bool {
	if w.version == "" {
		return !exists || m.uid != w.uid || m.terminating
	}
	c, err := resourceversion.CompareResourceVersion(m.version, w.version)
	return exists && (err != nil || c >= 0)
}
