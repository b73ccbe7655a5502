package objectsync

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// RemoveFinalizers takes our finalizer off an object and its related objects in the workspace, the object last, and
// leaves all else as it is: for a PublishedResource that goes without what it has made. Should the object be synced
// again, copies and state are its own.
func (s *Syncer) RemoveFinalizers(ctx context.Context, in Input) error {
	p := &pass{Syncer: s, Input: in.withRefusals()}
	if err := p.load(); err != nil {
		return err
	}
	for _, r := range p.state.all() {
		p.Holders.Drop(p.holding(r)) // First, so that of two who let go at a time one sees that nobody else is left.
		if r.Origin != v1alpha1.OriginKCP || len(p.others(r)) > 0 {
			continue
		}
		err := p.drop(ctx, p.served(r).From, p.releaseOrigin)
		if err != nil && RefusalOf(err) == nil { // What the workspace no longer shows or lets us write stays as it is.
			return err
		}
	}
	return p.drop(ctx, p.workspaceRef(), p.letGo)
}

// HasFinalizer reports whether our finalizer is on an object of a workspace.
func HasFinalizer(u *unstructured.Unstructured) bool { return hasFinalizer(u) }
