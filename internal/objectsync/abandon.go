package objectsync

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// CopyOf returns the copy of an object among those of its key, nil if there is none: what Abandon and Release would
// take for it.
func (s *Syncer) CopyOf(p Primary, candidates []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.identity(p).choose(candidates)
}

// abandon marks the copy, and then takes our finalizer off what the workspace has, the object last.
func (p *pass) abandon(ctx context.Context) error {
	if err := p.orphan(ctx); err != nil {
		return err
	}
	for _, r := range p.state.all() {
		if r.Origin != v1alpha1.OriginKCP {
			continue
		}
		err := p.drop(ctx, p.served(r).From, p.releaseOrigin)
		if err != nil && RefusalOf(err) == nil { // What the workspace no longer shows or lets us write stays as it is.
			return err
		}
	}
	// With the last of its objects a workspace takes our rights to the others.
	return p.drop(ctx, p.workspaceRef(), p.letGo)
}

// drop takes our finalizer off what is there in the workspace.
func (p *pass) drop(ctx context.Context, r Ref, by func(context.Context, Ref, *unstructured.Unstructured) error) error {
	u, err := p.Workspace.Cache(r.GVR()).Get(r.NamespacedName())
	if err != nil || u == nil {
		return err
	}
	return by(ctx, r, u)
}

// orphan marks the copy as left behind, and of which kind it is, which one of api-syncagent does not tell: nothing else
// tells to whom it counts from now on.
func (p *pass) orphan(ctx context.Context) error {
	if p.copied == nil || IsOrphaned(p.copied) {
		return nil
	}
	body := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		AnnotationOrphaned: "true", AnnotationKind: p.id.Kind.String(),
	}}}
	return patch(ctx, p.Service.Writer, p.copyRef(p.copied), body)
}
