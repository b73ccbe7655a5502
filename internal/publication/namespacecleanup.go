package publication

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// emptyAgain are the pauses until a namespace is looked at again that was not empty when its last copy had gone: what
// belongs to a copy goes after it, by the garbage collector or by an operator.
var emptyAgain = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}

// A namespaceCleanup hands out namespaces that copies have left when it is time to look at them again.
type namespaceCleanup struct {
	workqueue.TypedDelayingInterface[string]

	mu    sync.Mutex
	looks map[string]int // how often each has been or is about to be handed out; of those that are no more, nothing
}

func newNamespaceCleanup() *namespaceCleanup {
	return &namespaceCleanup{TypedDelayingInterface: workqueue.NewTypedDelayingQueue[string](), looks: map[string]int{}}
}

// Begin has a namespace looked at again, as often as there are pauses.
func (e *namespaceCleanup) Begin(name string) {
	e.Forget(name)
	e.Again(name)
}

// Again has a namespace looked at once more, unless it has been often enough.
func (e *namespaceCleanup) Again(name string) {
	if pause, more := e.pause(name); more {
		e.AddAfter(name, pause)
	}
}

// pause returns how long a namespace rests, and false if it has been looked at often enough.
func (e *namespaceCleanup) pause(name string) (pause time.Duration, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	looks := e.looks[name]
	if looks == len(emptyAgain) {
		delete(e.looks, name)
		return 0, false
	}
	e.looks[name]++
	return emptyAgain[looks], true
}

// Forget forgets how often a namespace has been looked at.
func (e *namespaceCleanup) Forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.looks, name)
}
