package publication

import (
	"sync"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// copyNamespaces are the namespaces of copies, by their objects. Methods may be called concurrently, but for one
// object.
type copyNamespaces struct {
	mu sync.Mutex
	of map[objectsync.Primary]string
}

func newCopyNamespaces() *copyNamespaces { return &copyNamespaces{of: map[objectsync.Primary]string{}} }

// noteFound notes where a copy has been found, if that is not known: the syncs of its object may fail until it is
// deleted.
func (p *copyNamespaces) noteFound(item objectsync.Primary, namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if namespace != "" && p.of[item] == "" {
		p.of[item] = namespace
	}
}

// move notes where a copy is, empty for nowhere, once what is to be done has been done about where it was before.
func (p *copyNamespaces) move(item objectsync.Primary, namespace string, leave func(was string) error) error {
	p.mu.Lock()
	was := p.of[item]
	p.mu.Unlock()
	if was != "" && was != namespace {
		if err := leave(was); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[item] = namespace; namespace == "" {
		delete(p.of, item)
	}
	return nil
}
