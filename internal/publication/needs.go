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

// An index tells which objects need what: thousands each, but few the same. Methods may be called concurrently.
type index[K comparable] struct {
	mu     sync.Mutex
	needs  map[objectsync.Primary]set[K]
	needed map[K][]unique.Handle[objectsync.Primary]
}

func newIndex[K comparable]() *index[K] {
	return &index[K]{needs: map[objectsync.Primary]set[K]{}, needed: map[K][]unique.Handle[objectsync.Primary]{}}
}

// add adds to what an object needs.
func (l *index[K]) add(p objectsync.Primary, k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.needs[p] == nil {
		l.needs[p] = set[K]{}
	}
	l.insert(p, k)
	l.needs[p][k] = struct{}{}
}

// insert has an object found by what it needs, if it did not need that before. The caller holds the lock.
func (l *index[K]) insert(p objectsync.Primary, k K) {
	if _, is := l.needs[p][k]; !is {
		l.needed[k] = append(l.needed[k], unique.Make(p))
	}
}

// set makes keys all that an object needs, and returns what it has needed and nobody needs any more.
func (l *index[K]) set(p objectsync.Primary, keys set[K]) (over []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.needs[p]
	for k := range keys {
		l.insert(p, k)
	}
	if l.needs[p] = keys; len(keys) == 0 {
		delete(l.needs, p)
	}
	for k := range was {
		if _, still := keys[k]; still {
			continue
		}
		left := l.needed[k]
		at := slices.Index(left, unique.Make(p))
		if l.needed[k] = slices.Delete(left, at, at+1); len(left) == 1 {
			delete(l.needed, k)
			over = append(over, k)
		}
	}
	return over
}

// of returns the objects that need something.
func (l *index[K]) of(k K) []objectsync.Primary {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []objectsync.Primary
	for _, by := range l.needed[k] {
		out = append(out, by.Value())
	}
	return out
}

// A use is what something is needed for.
type use int

const (
	// toLook is a resource that an object looks at, or all of a namespace if it has no name. A change of it is a reason to
	// sync the object.
	toLook use = iota
	// toStream is the stream of the related resources of a namespace of the service cluster. Those of an endpoint have its
	// URL for a cluster.
	toStream
	// toClaim is a namespace of the service cluster that is looked at for the objects of a workspace, beside those of its
	// copies. Each is a watch of its own, so that their number is bounded.
	toClaim
	// toWait is room for one more of these.
	toWait
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
	return need{NamespacedName: n, cluster: cluster, resource: unique.Make(r)}
}

// dependencies are what objects need. Their methods may be called concurrently.
type dependencies struct {
	index   *index[need]
	streams *streams
	objects *objectIndex
	quota   *quota

	mu sync.Mutex
	// namespaces of the service cluster that objects look at beside those of their copies, by logical cluster
	namespaces map[string]set[string]
}

// set makes needs all that an object has. Streams of the service cluster that nobody needs any more are closed; those
// of an endpoint stay, as objects of all workspaces come by them.
func (d *dependencies) set(item objectsync.Primary, needs set[need]) {
	for _, k := range d.index.set(item, needs) {
		switch k.use {
		case toStream:
			d.streams.closeUnused(k, func() bool { return len(d.index.of(k)) > 0 })
		case toClaim:
			d.releaseClaim(k)
		case toLook, toWait:
		}
	}
}

// claim reports whether a namespace of the service cluster may be looked at for an object, and returns what the object
// needs then, or else.
func (d *dependencies) claim(item objectsync.Primary, namespace string) (k need, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.namespaces[item.Cluster]
	k = need{cluster: item.Cluster, use: toWait}
	if _, ok = all[namespace]; ok || len(all) < objectsync.NamespacesMax {
		if all == nil {
			all = set[string]{}
			d.namespaces[item.Cluster] = all
		}
		all[namespace] = struct{}{}
		k.Namespace, k.use, ok = namespace, toClaim, true
	}
	d.index.add(item, k)
	return k, ok
}

// releaseClaim gives up a namespace of a workspace that no object of it needs, and tries again those that there may be
// room for by now.
func (d *dependencies) releaseClaim(k need) {
	d.mu.Lock()
	released := len(d.index.of(k)) == 0
	if released {
		if delete(d.namespaces[k.cluster], k.Namespace); len(d.namespaces[k.cluster]) == 0 {
			delete(d.namespaces, k.cluster)
		}
	}
	d.mu.Unlock()
	if !released {
		return
	}
	for _, waiting := range d.index.of(need{cluster: k.cluster, use: toWait}) {
		d.objects.queue.Add(waiting)
	}
}

// use makes so many bytes all that an object uses. If that is less than before, those of its workspace that wait are
// tried again.
func (d *dependencies) use(item objectsync.Primary, bytes int) {
	if d.quota.shrink(item, bytes) {
		for _, waiting := range d.index.of(need{cluster: item.Cluster, use: toWait}) {
			d.objects.queue.AddAfter(waiting, roomAgain)
		}
	}
}

// wake adds to the queue who has looked at something, or at all of its namespace.
func (d *dependencies) wake(k need) {
	items := d.index.of(k)
	k.Name = ""
	for _, item := range append(items, d.index.of(k)...) {
		d.objects.queue.Add(item)
	}
}
