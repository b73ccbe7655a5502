package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// namedMost is how many workspaces with failures are named, and messageMost how long what is said of each may be,
	// in bytes.
	namedMost   = 20
	messageMost = 512
)

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

// short returns the beginning of a message.
func short(s string) string {
	if len(s) <= messageMost {
		return s
	}
	return strings.ToValidUTF8(s[:messageMost], "") + " …"
}
