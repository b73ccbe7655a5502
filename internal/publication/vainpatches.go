package publication

import (
	"sync"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// vainPatches knows the last patch of the status of each object that changed nothing: a workspace whose schema lacks a
// field prunes it, and would be sent it with each sync. Methods may be called concurrently.
type vainPatches struct {
	mu sync.Mutex
	by map[objectsync.Primary]statusPatch
}

// A statusPatch is a patch of an object in one version.
type statusPatch struct{ body, version string }

func newVainPatches() *vainPatches { return &vainPatches{by: map[objectsync.Primary]statusPatch{}} }

// has reports whether a patch is known to change nothing.
func (v *vainPatches) has(p objectsync.Primary, s statusPatch) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	is, ok := v.by[p]
	return ok && is == s && s.version != ""
}

// note records whether a patch has changed nothing.
func (v *vainPatches) note(p objectsync.Primary, s statusPatch, vain bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if delete(v.by, p); vain {
		v.by[p] = s
	}
}
