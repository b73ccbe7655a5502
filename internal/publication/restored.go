package publication

// Restored has a publication forget what it knows by the resource versions of a server that has gone back in its history.
func (s *Supervisor) Restored(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[name]
	if of == nil {
		return
	}
	for _, p := range []*publication{of.current, of.next} {
		if p != nil {
			p.forgetVersions()
		}
	}
}

// forgetVersions forgets as of which resource versions workspaces are known to stay. Others have those numbers now.
func (p *publication) forgetVersions() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.staying)
}
