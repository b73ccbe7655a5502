package publication

import (
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// Restored has a publication forget what it knows by the resource versions of a server that has gone back in its
// history. inKCP tells whether that is a server of kcp: then objects may be missing there that nobody has deleted.
func (s *Supervisor) Restored(name string, inKCP bool) {
	s.each(name, func(p *publication) {
		p.forgetVersions()
		if inKCP {
			p.suspectAll()
		}
	})
}

// forgetVersions forgets up to which resource versions workspaces are known to stay. Others have those numbers now.
func (p *publication) forgetVersions() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workspaces {
		w.look = nil
	}
}

// suspectAll records which objects have copies. If kcp has no such object, the restore has undone it: nobody has
// deleted it.
func (p *publication) suspectAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restored = true
	for _, o := range p.objects {
		o.suspect = false
	}
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		if u == nil || objectsync.IsOrphaned(u) {
			continue
		}
		if item, ok := sourceOf(u); ok {
			p.object(item).suspect = true
		}
	}
}
