package publication

import (
	"context"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// Restored has a publication forget what it knows by the resource versions of a server that has gone back in its
// history. inKCP tells whether that is a server of kcp: then objects may be missing there that nobody has deleted.
func (s *Supervisor) Restored(name string, inKCP bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[name]
	if of == nil {
		return
	}
	for _, p := range []*publication{of.current, of.next} {
		if p == nil {
			continue
		}
		p.forgetVersions()
		if inKCP {
			p.suspectAll()
		}
	}
}

// forgetVersions forgets up to which resource versions workspaces are known to stay. Others have those numbers now.
func (p *publication) forgetVersions() { p.bindings.keep(nil) }

// suspectAll records which objects have copies. If kcp has no such object, the restore has undone it: nobody has
// deleted it.
func (p *publication) suspectAll() {
	suspects := set[objectsync.Primary]{}
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		if u == nil || objectsync.IsOrphaned(u) {
			continue
		}
		if cluster, source, ok := objectsync.SourceOf(u); ok {
			suspects[objectsync.Primary{Cluster: cluster, NamespacedName: source}] = struct{}{}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restored, p.suspects = true, suspects
}

// isSuspect reports whether an object that is missing may be so because kcp was restored to a time before it was made.
func (p *publication) isSuspect(item objectsync.Primary) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, is := p.suspects[item]
	return is
}

// clear forgets that an object may have been undone: it is there, or its copy is left behind.
func (p *publication) clear(item objectsync.Primary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.suspects, item)
}

// leaveUndone leaves the copy of an object behind that a restore of kcp has undone, once the server confirms that it is
// not there. A consumer that makes the object again finds the copy.
func (p *publication) leaveUndone(ctx context.Context, item objectsync.Primary,
	in objectsync.Input,
) (done bool, err error) {
	if _, gone := p.standing(item.Cluster); gone {
		err = p.confirmLeft(ctx, item.Cluster)
	} else {
		done, err = p.confirm(ctx, item, in)
		if err == nil && !done {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	if _, err := p.syncer.Abandon(ctx, in); err != nil {
		return false, err
	}
	p.clear(item)
	return true, nil
}
