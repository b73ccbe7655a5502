package publication

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// pauseFirst is how long an object rests that has failed for the first time.
	pauseFirst = 50 * time.Millisecond
	// rightsEvery is how often objects of all workspaces are tried again at most because one of them is allowed by now.
	rightsEvery = 10 * time.Second
	// probeEvery is how often objects are tried that lack rights of the provider on the service cluster, one for each
	// resource: nothing tells when these are given. If one is synced then, all others are tried, too.
	probeEvery = 30 * time.Second
	// namedMost is how many workspaces with failures are named, and messageMost how long what is said of each may be,
	// in bytes.
	namedMost   = 20
	messageMost = 512
)

// An object is what a publication knows of one object of a consumer beside what it needs.
type object struct {
	outcome

	failures int // in a row
	lasting  bool
	// stateVersion is the resource version of the state as this object has last written it. That tells it nothing new.
	stateVersion string
	refused      refusalGroup // by what it was at its last try
	wrote        []uint64     // what the last pass has written that has written anything, see hashOf
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

// A refusalGroup is what has refused objects that are cured together. The empty one is nothing.
type refusalGroup struct {
	is      bool                 // else it is nothing
	cluster string               // of the objects, empty if rights are missing, on which no consumer decides
	above   bool                 // in the workspace
	rights  schema.GroupResource // of the service cluster on which the provider lacks them
}

// refusalOf returns what has refused an object, nothing if an error is no refusal.
func refusalOf(item objectsync.Primary, err error) refusalGroup {
	r := objectsync.RefusalOf(err)
	switch {
	case r == nil:
		return refusalGroup{}
	case !r.Workspace && r.Cause == objectsync.RefusedByRights:
		return refusalGroup{is: true, rights: r.Resource}
	}
	return refusalGroup{is: true, cluster: item.Cluster, above: r.Workspace}
}

// pause returns how long an object rests that has failed once more, by the error and by how often it has failed so in a
// row. What is not known yet is looked at soon, what may pass within half a minute. What only a change cures, which is
// a reason by itself to look again, rests for more than six minutes after half a minute of tries, although many that
// are refused together wait for each other. After an outage what lasts may have passed, too.
func (o *object) pause(err error) time.Duration {
	growth, most, lasting := 2.0, 30*time.Second, false
	switch {
	case isEarly(err):
		most = time.Second
	case objectsync.IsLasting(err), errors.Is(err, errPanic):
		growth, most, lasting = 20, 10*time.Minute, true
	}
	if lasting != o.lasting {
		o.failures, o.lasting = 0, lasting
	}
	pause := float64(pauseFirst) * math.Pow(growth, float64(o.failures))
	o.failures++
	return time.Duration(min(pause, float64(most)))
}

// An objectIndex is what is known of all objects, and decides when they are synced. Its methods may be called
// concurrently.
type objectIndex struct {
	*records

	queue      workqueue.TypedDelayingInterface[objectsync.Primary]
	rights     rate.Sometimes // when objects are tried again that lacked rights
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

// settle records whether an object has failed, and has it synced again after a pause then. What cures one that was
// refused cures others: if it is refused no more, the others that the same server has refused are tried again.
func (x *objectIndex) settle(item objectsync.Primary, err error) {
	var was refusalGroup
	x.update(item, func(o *object) {
		by := refusalOf(item, err)
		switch {
		case err == nil:
			was, o.refused, o.failures = o.refused, refusalGroup{}, 0
			return
		case by.is:
			o.refused = by
		}
		x.queue.AddAfter(item, o.pause(err))
	})
	cure := func() {
		x.each(func(item objectsync.Primary, o *object) {
			if o.refused == was {
				x.retry(item, o)
			}
		})
	}
	switch {
	case was.is && was.cluster == "":
		x.rights.Do(cure)
	case was.is:
		cure()
	}
}

// retry tries an object again, with new pauses. By what it is refused is known again after that.
func (x *objectIndex) retry(item objectsync.Primary, o *object) {
	o.failures, o.refused = 0, refusalGroup{}
	x.queue.Add(item)
}

// probe tries objects that lack rights, one of each resource.
func (x *objectIndex) probe() {
	tried := set[refusalGroup]{}
	x.each(func(item objectsync.Primary, o *object) {
		if _, is := tried[o.refused]; o.refused.is && o.refused.cluster == "" && !is {
			tried[o.refused] = struct{}{}
			x.queue.Add(item)
		}
	})
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
		x.retry(item, o)
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
