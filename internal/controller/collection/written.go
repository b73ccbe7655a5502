package collection

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// lag is for how long our own writes count more than a cache that does not show them. A cache that is later than that
// may never show them, because somebody has undone them meanwhile.
const lag = 5 * time.Second

// written remembers what was written of each collection until the cache shows it.
type written struct {
	now func() time.Time

	mu     sync.Mutex
	writes map[types.NamespacedName]map[string]write // by collection and name of the member
}

// A write is the last write to a member.
type write struct {
	member member // as it was then
	at     time.Time
}

func newWritten() *written {
	return &written{now: time.Now, writes: map[types.NamespacedName]map[string]write{}}
}

// note remembers a member as a write has left it.
func (w *written) note(collection types.NamespacedName, m member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[collection] == nil {
		w.writes[collection] = map[string]write{}
	}
	w.writes[collection][m.name] = write{member: m, at: w.now()}
}

// forget forgets all that was written of a collection.
func (w *written) forget(collection types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writes, collection)
}

// correct puts members as they were written in the place of what a cache holds that is older, and reports whether it
// had to.
func (w *written) correct(collection types.NamespacedName, cached map[string]member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	corrected := false
	for name, last := range w.writes[collection] {
		m, ok := cached[name]
		if w.now().Sub(last.at) > lag || ok && last.shownBy(m) {
			delete(w.writes[collection], name)
			continue
		}
		if !ok && last.member.terminating {
			delete(w.writes[collection], name)
			continue
		}
		cached[name] = last.member
		corrected = true
	}
	if len(w.writes[collection]) == 0 {
		delete(w.writes, collection)
	}
	return corrected
}

// shownBy reports whether a cached member shows a write, or what came after it.
func (w write) shownBy(m member) bool {
	if w.member.terminating && m.uid == w.member.uid {
		return m.terminating
	}
	c, err := resourceversion.CompareResourceVersion(m.version, w.member.version)
	return err != nil || c >= 0
}
