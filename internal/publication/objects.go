package publication

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
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

// settle has an object synced again after a pause if it has failed.
func (x *objectIndex) settle(item objectsync.Primary, err error) {
	if err == nil {
		x.succeed(item)
		return
	}
	x.queue.AddAfter(item, x.pause(item, err))
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
		o.stateVersion = ""
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
