package objectsync

import (
	"context"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// abandon marks the copy, and then takes our finalizer off what the workspace has, the object last.
func (p *pass) abandon(ctx context.Context) error {
	if p.copied != nil && !IsOrphaned(p.copied) {
		body := map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationOrphaned: "true"}}}
		if err := patch(ctx, p.Service.Writer, p.copyRef(p.copied), body); err != nil {
			return err
		}
	}
	var refs []Ref
	for _, r := range p.state.records {
		if r.Origin == v1alpha1.OriginKCP {
			refs = append(refs, r.From)
		}
	}
	for _, r := range append(refs, p.workspaceRef()) { // With the last of its objects a workspace takes our rights to the others.
		u, err := p.Workspace.Cache(r.GVR()).Get(r.NamespacedName())
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		if err := p.letGo(ctx, r, u); err != nil {
			return err
		}
	}
	return nil
}
