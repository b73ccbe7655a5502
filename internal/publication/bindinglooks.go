package publication

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// bindingsEvery is how long after a look at the bindings of a workspace the next one begins, however many of its
// objects are deleted.
const bindingsEvery = 500 * time.Millisecond

// errAwaitsLook means that an object waits for a look at the bindings of its workspace, after which it comes again.
var errAwaitsLook = errors.New("waiting for a look at the APIBindings of the workspace")

// bindingLooks are the last looks at the bindings of workspaces. One look serves for all objects that were deleted
// before it. An object that was deleted after the last look waits for the next one.
type bindingLooks struct {
	mu sync.Mutex
	of map[string]*bindingLook // by logical cluster
}

// A bindingLook is the last look at the bindings of one workspace.
type bindingLook struct {
	as      string // the resource version of the answer, empty before the first one
	leaves  bool   // The workspace gives up the binding.
	begun   time.Time
	asking  bool
	waiting set[objectsync.Primary] // who comes again after the answer
}

func newBindingLooks() *bindingLooks { return &bindingLooks{of: map[string]*bindingLook{}} }

// A bindingAnswer says what is known about an object that is deleted. Neither known nor asks is set if it comes again:
// after some time or, if that is zero, after the answer that is under way.
type bindingAnswer struct {
	known, leaves bool
	asks          *bindingLook // The caller is to look, and to tell what it has seen.
	after         time.Duration
}

// ask returns whether the workspace of an object that is deleted leaves, as of a resource version of the object.
func (l *bindingLooks) ask(item objectsync.Primary, version string, now time.Time) bindingAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.of[item.Cluster]
	if last == nil {
		last = &bindingLook{waiting: set[objectsync.Primary]{}}
		l.of[item.Cluster] = last
	}
	if order, err := resourceversion.CompareResourceVersion(version, last.as); err == nil && order <= 0 {
		return bindingAnswer{known: true, leaves: last.leaves}
	}
	if last.asking {
		last.waiting[item] = struct{}{}
		return bindingAnswer{}
	}
	if left := last.begun.Add(bindingsEvery).Sub(now); left > 0 {
		return bindingAnswer{after: left}
	}
	last.begun, last.asking = now, true
	return bindingAnswer{asks: last}
}

// tell records the answer to a look, with an empty resource version if there is none, and returns who has waited for
// it.
func (l *bindingLooks) tell(look *bindingLook, as string, leaves bool) []objectsync.Primary {
	l.mu.Lock()
	defer l.mu.Unlock()
	if as != "" {
		look.as, look.leaves = as, leaves
	}
	look.asking = false
	waiting := slices.Collect(maps.Keys(look.waiting))
	clear(look.waiting)
	return waiting
}

// keep forgets the looks at all workspaces but those given.
func (l *bindingLooks) keep(workspaces map[string]Workspace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(cluster string, _ *bindingLook) bool {
		_, is := workspaces[cluster]
		return !is
	})
}

// len returns of how many workspaces there are looks.
func (l *bindingLooks) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of)
}
