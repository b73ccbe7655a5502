package publication

import (
	"maps"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// shrinkAfter is how long it takes after a workspace or the last of its copies has gone until the workspace is
// forgotten. Of many that go at a time it is looked once what they have left.
const shrinkAfter = time.Second

// forgetWorkspacesSoon has workspaces with nothing left forgotten soon.
func (p *publication) forgetWorkspacesSoon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shrinking || p.ctx.Err() != nil {
		return
	}
	p.shrinking = true
	time.AfterFunc(shrinkAfter, p.forgetWorkspaces)
}

// forgetWorkspaces forgets all workspaces that do not bind the API and have neither objects nor copies nor states.
func (p *publication) forgetWorkspaces() {
	p.mu.Lock()
	p.shrinking, p.arrived = false, set[string]{}
	all := slices.Collect(maps.Values(p.endpoints))
	p.mu.Unlock()
	used := p.usedWorkspaces(all) // Streams have locks of their own, under which they tell of what arrives.
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(used, p.arrived)
	p.arrived = nil
	p.workspaceIndex.forget(used)
	for _, e := range all {
		e.forget(p.workspaceIndex.consumers.Workspaces)
	}
}

// usedWorkspaces returns the logical clusters that have objects, copies or states.
func (p *publication) usedWorkspaces(endpoints []*endpoint) set[string] {
	used := set[string]{}
	for _, e := range endpoints {
		for _, n := range e.objects.Names() {
			used[primaryOf(n).Cluster] = struct{}{}
		}
	}
	for _, t := range []*informer.Table{p.copies, p.states} {
		for _, n := range t.Names() {
			if u := t.Get(n); u != nil {
				used[u.GetLabels()[objectsync.LabelCluster]] = struct{}{}
			}
		}
	}
	return used
}
