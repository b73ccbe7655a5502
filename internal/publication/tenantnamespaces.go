package publication

import (
	"sync"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// tenantNamespaces are the namespaces of the service cluster that are looked at for the objects of each workspace,
// beside those of its copies. Each is a watch of its own, so that their number is bounded. Methods may be called
// concurrently.
type tenantNamespaces struct {
	mu   sync.Mutex
	used map[string]map[string]set[objectsync.Primary] // by logical cluster and namespace
	full map[string]set[objectsync.Primary]            // objects for which there was no room, by logical cluster
}

func newTenantNamespaces() *tenantNamespaces {
	return &tenantNamespaces{
		used: map[string]map[string]set[objectsync.Primary]{}, full: map[string]set[objectsync.Primary]{},
	}
}

// claim reports whether a namespace may be looked at for an object.
func (t *tenantNamespaces) claim(p objectsync.Primary, namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.used[p.Cluster]
	if all == nil {
		all = map[string]set[objectsync.Primary]{}
		t.used[p.Cluster] = all
	}
	if all[namespace] == nil {
		if len(all) >= objectsync.NamespacesMax {
			if t.full[p.Cluster] == nil {
				t.full[p.Cluster] = set[objectsync.Primary]{}
			}
			t.full[p.Cluster][p] = struct{}{}
			return false
		}
		all[namespace] = set[objectsync.Primary]{}
	}
	all[namespace][p] = struct{}{}
	return true
}

// keep gives up all namespaces that an object has claimed but those given, and returns the objects that there may be
// room for by now.
func (t *tenantNamespaces) keep(p objectsync.Primary, namespaces set[string]) []objectsync.Primary {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := false
	for namespace, objects := range t.used[p.Cluster] {
		if _, still := namespaces[namespace]; still {
			continue
		}
		if delete(objects, p); len(objects) == 0 {
			delete(t.used[p.Cluster], namespace)
			room = true
		}
	}
	if len(t.used[p.Cluster]) == 0 {
		delete(t.used, p.Cluster)
	}
	if namespaces == nil {
		t.forgo(p)
	}
	if !room {
		return nil
	}
	var wake []objectsync.Primary
	for waiting := range t.full[p.Cluster] {
		wake = append(wake, waiting)
	}
	delete(t.full, p.Cluster)
	return wake
}

// forgo forgets that there was no room for an object. The caller holds the lock.
func (t *tenantNamespaces) forgo(p objectsync.Primary) {
	if delete(t.full[p.Cluster], p); len(t.full[p.Cluster]) == 0 {
		delete(t.full, p.Cluster)
	}
}
