package publication

import (
	"slices"
	"sync"
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

// dependencies are what objects need. Their methods may be called concurrently.
type dependencies struct {
	streams *streams
	objects *objectIndex

	mu     sync.Mutex
	needs  map[objectsync.Primary]set[need]
	needed map[need][]unique.Handle[objectsync.Primary] // thousands, but few of the same
	// namespaces are how many of the service cluster are looked at beside those of copies, by logical cluster.
	namespaces map[string]int
}

func newDependencies(s *streams, x *objectIndex) *dependencies {
	return &dependencies{
		streams: s, objects: x, needs: map[objectsync.Primary]set[need]{},
		needed: map[need][]unique.Handle[objectsync.Primary]{}, namespaces: map[string]int{},
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
		d.namespaces[k.cluster]++
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
	was := d.needs[item]
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
			d.namespaces[k.cluster]--
		}
	}
	if d.namespaces[item.Cluster] == 0 {
		delete(d.namespaces, item.Cluster)
	}
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
// needs then.
func (d *dependencies) claim(item objectsync.Primary, namespace string) (k need, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k = need{NamespacedName: types.NamespacedName{Namespace: namespace}, cluster: item.Cluster, use: useNamespace}
	if ok = len(d.needed[k]) > 0 || d.namespaces[item.Cluster] < objectsync.NamespacesMax; ok {
		d.insert(item, k)
	}
	return k, ok
}

// wake adds to the queue who has looked at something, or at all of its namespace.
func (d *dependencies) wake(k need) {
	items := d.by(k)
	k.Name = ""
	for _, item := range append(items, d.by(k)...) {
		d.objects.queue.Add(item)
	}
}
