package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// reportEvery is how often it is told at most that counts have changed.
	reportEvery = time.Second
	// namedMost is how many workspaces with failures are named, and messageMost how long what is said of each may be,
	// in bytes.
	namedMost   = 20
	messageMost = 512
)

// A report is what became of all objects of a publication.
type report struct {
	name    string
	changed func()
	left    func() (int64, []v1alpha1.WorkspaceOrphans) // copies left behind

	mu       sync.Mutex
	known    set[objectsync.Primary]
	failures map[objectsync.Primary]failure
	timer    *time.Timer // nil unless it is about to be told of a change
	stopped  bool
}

// A failure is why an object is not synced.
type failure struct{ workspace, message string }

func newReport(name string, changed func()) *report {
	return &report{
		name: name, changed: changed, known: set[objectsync.Primary]{}, failures: map[objectsync.Primary]failure{},
	}
}

// note records what became of an object.
func (r *report) note(p objectsync.Primary, workspace string, err error, took time.Duration) {
	observe(r.name, err, took)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.known[p]
	was, failed := r.failures[p]
	r.known[p] = struct{}{}
	if err == nil {
		delete(r.failures, p)
		if !known || failed {
			r.tell()
		}
		return
	}
	is := failure{workspace, short(err.Error())} // Of a thousand related objects there may be as many errors.
	if failed && was.workspace == is.workspace && managedadapter.SameText(was.message, is.message) {
		return
	}
	r.failures[p] = is
	r.tell()
}

// forget drops an object that is gone.
func (r *report) forget(p objectsync.Primary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.known[p]; known {
		r.tell()
	}
	delete(r.known, p)
	delete(r.failures, p)
}

// change has it told soon that something else has changed.
func (r *report) change() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell()
}

// tell has it told soon that something has changed. The caller holds the lock.
func (r *report) tell() {
	if r.timer != nil || r.stopped {
		return
	}
	r.timer = time.AfterFunc(reportEvery, func() {
		r.mu.Lock()
		r.timer = nil
		stopped := r.stopped
		r.mu.Unlock()
		if !stopped {
			r.changed()
		}
	})
}

func (r *report) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	forgetCounts(r.name)
}

// counts returns what the status says.
func (r *report) counts() *v1alpha1.ObjectCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := int64(len(r.failures))
	out := &v1alpha1.ObjectCounts{Synced: int64(len(r.known)) - failed, Failed: failed}
	out.Orphaned, out.Orphans = r.left()
	count(r.name, out)
	of := map[string]*v1alpha1.WorkspaceFailures{}
	for _, p := range slices.SortedFunc(maps.Keys(r.failures),
		func(a, b objectsync.Primary) int { return cmp.Compare(a.String(), b.String()) }) {
		f := r.failures[p]
		w := of[f.workspace]
		if w == nil {
			w = &v1alpha1.WorkspaceFailures{Workspace: f.workspace, Object: p.String(), Message: f.message}
			of[f.workspace] = w
		}
		w.Failed++
	}
	for _, w := range of {
		out.Failures = append(out.Failures, *w)
	}
	slices.SortFunc(out.Failures, func(a,
		b v1alpha1.WorkspaceFailures,
	) int {
		return cmp.Compare(a.Workspace, b.Workspace)
	})
	if len(out.Failures) > namedMost {
		out.Failures = out.Failures[:namedMost]
	}
	return out
}

// short returns the beginning of a message.
func short(s string) string {
	if len(s) <= messageMost {
		return s
	}
	return strings.ToValidUTF8(s[:messageMost], "") + " …"
}
