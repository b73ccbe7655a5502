package objectsync

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	for _, r := range p.state.all() {
		if r.Origin != v1alpha1.OriginKCP {
			continue
		}
		if err := p.drop(ctx, p.served(r).From, p.free); err != nil {
			return err
		}
	}
	return p.drop(ctx, p.workspaceRef(), p.letGo) // With the last of its objects a workspace takes our rights to the others.
}

// drop takes our finalizer off what is there in the workspace.
func (p *pass) drop(ctx context.Context, r Ref, by func(context.Context, Ref, *unstructured.Unstructured) error) error {
	u, err := p.Workspace.Cache(r.GVR()).Get(r.NamespacedName())
	if err != nil || u == nil {
		return err
	}
	return by(ctx, r, u)
}
