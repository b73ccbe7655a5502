package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// namedMost is how many workspaces with failures are named, and messageMost how long what is said of each may be,
	// in bytes.
	namedMost   = 20
	messageMost = 512
)

// note records what became of an object.
func (p *publication) note(item objectsync.Primary, err error, took time.Duration) {
	observe(p.name, err, took)
	is := ""
	if err != nil {
		is = short(err.Error()) // Of a thousand related objects there may be as many errors.
	}
	p.update(item, func(o *object) {
		if o.known && (o.failure == "") == (is == "") && managedadapter.SameText(o.failure, is) {
			return
		}
		o.known, o.failure = true, is
		p.changed()
	})
}

// unnote forgets what became of an object that is synced no more.
func (p *publication) unnote(item objectsync.Primary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.objects[item]
	if o == nil {
		return
	}
	if o.warned = (objectsync.Event{}); o.known {
		o.known, o.failure = false, ""
		p.changed()
	}
}

// noteOrphan records whether the copy of an object has been left behind.
func (p *publication) noteOrphan(item objectsync.Primary, is bool) {
	p.update(item, func(o *object) {
		if o.orphaned != is {
			o.orphaned = is
			p.changed()
		}
	})
}

// isOrphan reports whether a copy of an object of our kind has been left behind: others may have copies of the same
// kind.
func (p *publication) isOrphan(copied *unstructured.Unstructured) bool {
	return copied != nil && objectsync.IsOrphaned(copied) && isOf(copied, p.config.Sync.Primary.Workspace)
}

// counts returns what the status says.
func (p *publication) counts() *v1alpha1.ObjectCounts {
	out := &v1alpha1.ObjectCounts{}
	orphans, failures := map[string]int64{}, map[string]*v1alpha1.WorkspaceFailures{}
	p.mu.Lock()
	for item, o := range p.objects {
		name := cmp.Or(p.workspace(item.Cluster).Path, item.Cluster)
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
	}
	p.mu.Unlock()
	count(p.name, out)
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

// short returns the beginning of a message.
func short(s string) string {
	if len(s) <= messageMost {
		return s
	}
	return strings.ToValidUTF8(s[:messageMost], "") + " …"
}
