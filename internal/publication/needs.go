package publication

import (
	"slices"
	"sync"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

type set[K comparable] = map[K]struct{}

// A use is what something is needed for.
type use int

const (
	// useRead is that of a resource that an object reads, or of all of a namespace if it has no name. A change of it is a
	// reason to sync the object.
	useRead use = iota
	// useStream is that of the stream of the related resources of a namespace of the service cluster.
	useStream
	// useNamespace is that of a namespace of the service cluster that is looked at for the objects of a workspace, beside
	// those of its copies. Each is a watch of its own, so that their number is bounded.
	useNamespace
	// useRoom is that of more room, for which an object waits.
	useRoom
)

// A need is something that an object needs: of a workspace, or of the service cluster if cluster is empty.
type need struct {
	types.NamespacedName

	cluster  string
	resource unique.Handle[schema.GroupVersionResource]
	use      use
}

// lookAt is the need to look at a resource.
func lookAt(n types.NamespacedName, cluster string, r schema.GroupVersionResource) need {
	return need{NamespacedName: n, cluster: cluster, resource: unique.Make(r), use: useRead}
}

// roomAgain is when objects are tried again that there may be room for by now.
const roomAgain = time.Second

// dependencies are what objects need, and how many bytes they use. Their methods may be called concurrently.
type dependencies struct {
	streams *streams
	objects *objectIndex

	mu     sync.Mutex
	needs  map[objectsync.Primary]set[need]
	needed map[need][]unique.Handle[objectsync.Primary] // thousands, but few of the same
	used   map[objectsync.Primary]int
	of     map[string]usage // by logical cluster
}

// A usage is what the objects of a workspace need together.
type usage struct {
	bytes      int
	namespaces int // of the service cluster that are looked at beside those of copies
}

func newDependencies(s *streams, x *objectIndex) *dependencies {
	return &dependencies{
		streams: s, objects: x, needs: map[objectsync.Primary]set[need]{},
		needed: map[need][]unique.Handle[objectsync.Primary]{}, used: map[objectsync.Primary]int{},
		of: map[string]usage{},
	}
}

// add adds to what an object needs.
func (d *dependencies) add(item objectsync.Primary, k need) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.insert(item, k)
}

// insert adds to what an object needs. The caller holds the lock.
func (d *dependencies) insert(item objectsync.Primary, k need) {
	if _, is := d.needs[item][k]; is {
		return
	}
	if d.needs[item] == nil {
		d.needs[item] = set[need]{}
	}
	d.needs[item][k] = struct{}{}
	if d.needed[k] = append(d.needed[k], unique.Make(item)); k.use == useNamespace && len(d.needed[k]) == 1 {
		d.count(k.cluster, usage{namespaces: 1})
	}
}

// count has the objects of a workspace need more, or less. With less, those of them that wait for room are tried again.
// The caller holds the lock.
func (d *dependencies) count(cluster string, more usage) {
	is := usage{d.of[cluster].bytes + more.bytes, d.of[cluster].namespaces + more.namespaces}
	if d.of[cluster] = is; is == (usage{}) {
		delete(d.of, cluster)
	}
	if more.bytes < 0 || more.namespaces < 0 {
		for _, waits := range d.needed[need{cluster: cluster, use: useRoom}] {
			d.objects.queue.AddAfter(waits.Value(), roomAgain)
		}
	}
}

// set makes needs all that an object has. Streams of the service cluster that nobody needs any more are closed; those
// of an endpoint stay, as objects of all workspaces come by them.
func (d *dependencies) set(item objectsync.Primary, needs set[need]) {
	for _, k := range d.replace(item, needs) {
		if k.use == useStream {
			d.streams.closeUnused(k, func() bool { return len(d.by(k)) > 0 })
		}
	}
}

// replace makes needs all that an object has, and returns what it has needed and nobody needs any more.
func (d *dependencies) replace(item objectsync.Primary, needs set[need]) (over []need) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range needs {
		d.insert(item, k)
	}
	was, freed := d.needs[item], 0
	if d.needs[item] = needs; len(needs) == 0 {
		delete(d.needs, item)
	}
	for k := range was {
		if _, still := needs[k]; still {
			continue
		}
		left := d.needed[k]
		at := slices.Index(left, unique.Make(item))
		if d.needed[k] = slices.Delete(left, at, at+1); len(left) > 1 {
			continue
		}
		delete(d.needed, k)
		over = append(over, k)
		if k.use == useNamespace {
			freed++
		}
	}
	d.count(item.Cluster, usage{namespaces: -freed})
	return over
}

// by returns the objects that need something.
func (d *dependencies) by(k need) []objectsync.Primary {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []objectsync.Primary
	for _, by := range d.needed[k] {
		out = append(out, by.Value())
	}
	return out
}

// claim reports whether a namespace of the service cluster may be looked at for an object, and returns what the object
// needs then, or else.
func (d *dependencies) claim(item objectsync.Primary, namespace string) (k need, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k = need{NamespacedName: types.NamespacedName{Namespace: namespace}, cluster: item.Cluster, use: useNamespace}
	if ok = len(d.needed[k]) > 0 || d.of[item.Cluster].namespaces < objectsync.NamespacesMax; !ok {
		k = need{cluster: item.Cluster, use: useRoom}
	}
	d.insert(item, k)
	return k, ok
}

// take has an object use more bytes, if there is room for them beside the others of its workspace.
func (d *dependencies) take(item objectsync.Primary, bytes int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	more := max(0, bytes-d.used[item])
	if more > 0 && d.of[item.Cluster].bytes+more > objectsync.RoomMost {
		return false
	}
	d.use(item, more)
	return true
}

// shrink makes so many bytes all that an object uses, if that is less than before.
func (d *dependencies) shrink(item objectsync.Primary, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.use(item, min(0, bytes-d.used[item]))
}

// use has an object use more bytes, or fewer. The caller holds the lock.
func (d *dependencies) use(item objectsync.Primary, more int) {
	if d.used[item] += more; d.used[item] == 0 {
		delete(d.used, item)
	}
	d.count(item.Cluster, usage{bytes: more})
}

// wake adds to the queue who has looked at something, or at all of its namespace.
func (d *dependencies) wake(k need) {
	items := d.by(k)
	k.Name = ""
	for _, item := range append(items, d.by(k)...) {
		d.objects.queue.Add(item)
	}
}
