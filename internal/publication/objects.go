package publication

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
	"unique"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// What is not known yet is looked at again after earlyFirst, and after earlyMost at the latest. What has failed is
	// after retryFirst, and after retryMost at the latest if its workspace has no more than retryRate of them.
	earlyFirst, earlyMost = 50 * time.Millisecond, time.Second
	retryFirst, retryMost = 200 * time.Millisecond, time.Minute
	// crowdedMost is how long an object waits at most of a workspace with many that have failed.
	crowdedMost = 10 * time.Minute
	// namedMost is how many workspaces with failures are named, and messageMost how long what is said of each may be,
	// in bytes.
	namedMost   = 20
	messageMost = 512
)

// An object is what a publication knows of one object of a consumer beside what it needs.
type object struct {
	outcome

	// stateVersion is the resource version of the state as this object has last written it. That tells it nothing new.
	stateVersion string
	wrote        []uint64 // what the last pass has written that has written anything, see hashOf
	inStep       map[objectsync.Record]objectsync.Versions
	// warned is the last Warning, as long as each sync gives it.
	warned objectsync.Event
	// deleted reports whether the object was in deletion when it was last seen, and unseenSince is since when it is
	// unseen. That is zero if it is not.
	deleted     bool
	unseenSince time.Time
}

// An outcome is what the status tells of an object.
type outcome struct {
	known    bool   // It has been synced, or has failed.
	failure  string // why it is not synced
	orphaned bool   // Its copy is an orphan.
}

// An objectIndex is what is known of all objects, and decides when they are synced. Its methods may be called
// concurrently.
type objectIndex struct {
	*records

	queue      workqueue.TypedDelayingInterface[objectsync.Primary]
	early      workqueue.TypedRateLimiter[objectsync.Primary]
	failures   workqueue.TypedRateLimiter[objectsync.Primary]
	workspaces *workspaceIndex
	changed    func() // says that what the status tells has changed
}

// records are what is known of all objects, by whichever spec they are synced.
type records struct {
	fights targetresource.Drift

	mu    sync.Mutex
	known map[objectsync.Primary]*object // those of which anything is there
}

// update changes what is known of an object.
func (x *objectIndex) update(item objectsync.Primary, change func(*object)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.known[item]
	if o == nil {
		o = &object{}
		x.known[item] = o
		x.workspaces.count(item.Cluster, 1)
	}
	was := o.outcome
	if change(o); o.outcome != was {
		x.changed()
	}
}

// get returns a copy of what is known of an object.
func (x *objectIndex) get(item objectsync.Primary) object {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o := x.known[item]; o != nil {
		return *o
	}
	return object{}
}

// forget removes an object from the index.
func (x *objectIndex) forget(item objectsync.Primary) {
	x.succeed(item)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known[item] != nil {
		x.changed()
		delete(x.known, item)
		x.fights.Forget(fighter(item))
		x.workspaces.count(item.Cluster, -1)
	}
}

// note records what became of an object.
func (x *objectIndex) note(item objectsync.Primary, err error) {
	is := ""
	if err != nil {
		is = managedadapter.Clip(err.Error(), messageMost) // Of a thousand related objects there may be as many errors.
	}
	x.update(item, func(o *object) {
		if o.known = true; o.failure == "" || is == "" || !managedadapter.SameText(o.failure, is) {
			o.failure = is
		}
	})
}

// noteOrphan records whether the copy of an object is an orphan.
func (x *objectIndex) noteOrphan(item objectsync.Primary, is bool) {
	x.update(item, func(o *object) { o.orphaned = is })
}

// add has objects synced that may be new. Their workspaces are not forgotten before.
func (x *objectIndex) add(items ...objectsync.Primary) {
	for _, item := range items {
		x.update(item, func(*object) {})
		x.queue.Add(item)
	}
}

// pause returns how long an object rests that has failed once more.
func (x *objectIndex) pause(item objectsync.Primary, err error) time.Duration {
	if isEarly(err) {
		return x.early.When(item)
	}
	x.update(item, func(*object) {}) // So that its workspace is known.
	turn := x.workspaces.get(item.Cluster).retries.Reserve().Delay()
	return max(x.failures.When(item), min(turn, crowdedMost))
}

// succeed has the pauses of an object begin anew.
func (x *objectIndex) succeed(item objectsync.Primary) {
	x.early.Forget(item)
	x.failures.Forget(item)
}

// retry tries an object again, with new pauses.
func (x *objectIndex) retry(item objectsync.Primary) {
	x.succeed(item)
	x.queue.Add(item)
}

// each does something with all objects, under the lock.
func (x *objectIndex) each(do func(objectsync.Primary, *object)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for item, o := range x.known {
		do(item, o)
	}
}

// resume has all objects synced by another spec, which may cure what has failed.
func (x *objectIndex) resume() {
	x.each(func(item objectsync.Primary, o *object) {
		o.stateVersion, o.inStep = "", nil
		x.retry(item)
	})
}

// isEarly reports whether an error means that something is not known yet.
func isEarly(err error) bool {
	return informer.IsNotSynced(err) || errors.Is(err, errEndpointGone)
}

// counts returns what the status says.
func (x *objectIndex) counts() *v1alpha1.ObjectCounts {
	out := &v1alpha1.ObjectCounts{}
	orphans, failures := map[string]int64{}, map[string]*v1alpha1.WorkspaceFailures{}
	x.each(func(item objectsync.Primary, o *object) {
		name := item.Cluster
		if o.orphaned || o.failure != "" {
			name = cmp.Or(x.workspaces.get(name).Path, name)
		}
		if o.orphaned {
			out.Orphaned++
			orphans[name]++
		}
		switch {
		case o.failure != "":
			out.Failed++
			fail(failures, name, item, o)
		case o.known:
			out.Synced++
		}
	})
	for _, name := range firstOf(failures) {
		out.Failures = append(out.Failures, *failures[name])
	}
	for _, name := range firstOf(orphans) {
		out.Orphans = append(out.Orphans, v1alpha1.WorkspaceOrphans{Workspace: name, Copies: orphans[name]})
	}
	return out
}

// fail counts a failure in a workspace, of whose failures the first one is told.
func fail(failures map[string]*v1alpha1.WorkspaceFailures, name string, item objectsync.Primary, o *object) {
	w := failures[name]
	if w == nil {
		w = &v1alpha1.WorkspaceFailures{Workspace: name}
		failures[name] = w
	}
	if w.Failed++; w.Failed == 1 || item.String() < w.Object {
		w.Object, w.Message = item.String(), o.failure
	}
}

// firstOf returns the first names of workspaces.
func firstOf[V any](all map[string]V) []string {
	names := slices.Sorted(maps.Keys(all))
	return names[:min(len(names), namedMost)]
}

// fighter is whom a Drift knows an object as.
func fighter(p objectsync.Primary) informer.Owner {
	return informer.Owner{Controller: p.Cluster, NamespacedName: p.NamespacedName}
}

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
