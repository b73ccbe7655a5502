package publication

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// noteOrphan records whether a copy of an object of our kind has been left behind: others may have copies of the same
// kind. Nil is a copy that is gone.
func (p *publication) noteOrphan(n types.NamespacedName, u *unstructured.Unstructured) {
	p.mu.Lock()
	_, was := p.orphans[n]
	is := u != nil && objectsync.IsOrphaned(u) && isOf(u, p.config.Sync.Primary.Workspace)
	if is {
		p.orphans[n] = u.GetLabels()[objectsync.LabelCluster]
	} else {
		delete(p.orphans, n)
	}
	p.mu.Unlock()
	if was != is {
		p.report.change()
	}
}

// countOrphans says how many copies have been left behind, and by whom.
func (p *publication) countOrphans() (total int64, of []v1alpha1.WorkspaceOrphans) {
	copies := map[string]int64{}
	p.mu.Lock()
	for _, cluster := range p.orphans {
		name := cluster
		if w := p.workspaces[cluster]; w != nil {
			name = cmp.Or(w.path, cluster)
		}
		copies[name]++
		total++
	}
	p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(copies)) {
		of = append(of, v1alpha1.WorkspaceOrphans{Workspace: name, Copies: copies[name]})
	}
	return total, of[:min(len(of), namedMost)]
}
