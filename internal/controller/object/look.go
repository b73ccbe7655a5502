package object

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// purposeManifest is the resource of an Object's manifest.
const purposeManifest watch.Purpose = "manifest"

// look finds the live resource. It asks the target only where no watch can tell.
func (e *external) look(ctx context.Context, o Object) error {
	if !e.mapping.Watchable {
		return e.ask(ctx)
	}
	owns := owns(o)
	scopes := []watch.Scope{watch.ScopeName}
	if owns {
		scopes = []watch.Scope{watch.ScopeCluster}
	}
	if owns && e.mapping.Namespaced {
		scopes = append(scopes, watch.ScopeNamespace)
	}
	err := e.lookThrough(ctx, scopes)
	switch {
	case watch.IsDenied(err):
		return e.ask(ctx)
	case err != nil:
		return errors.Wrap(err, "cannot look at resource")
	case e.live == nil && owns && appliedByClient(o):
		return e.ask(ctx) // It may only lack our label.
	}
	return nil
}

// find finds the live resource like look, and asks the target if no watch shows it: it may only have lost our label.
func (e *external) find(ctx context.Context, o Object) error {
	if err := e.look(ctx, o); err != nil || e.live != nil || !e.mapping.Watchable {
		return err
	}
	return e.ask(ctx)
}

// lookThrough looks through the first stream that the target does not deny. Those before it stay open, to notice when that changes.
func (e *external) lookThrough(ctx context.Context, scopes []watch.Scope) error {
	interests := make([]watch.Interest, 0, len(scopes))
	for _, s := range scopes {
		interests = append(interests, watch.Interest{Resource: e.mapping.Resource, NamespacedName: name(e.manifest), Scope: s})
	}
	var err error
	for n := range interests {
		if n < len(interests)-1 && e.cluster.Watches().Denied(interests[n]) {
			continue
		}
		e.cluster.Watches().Track(e.owner, purposeManifest, interests[:n+1]...)
		e.live, err = e.cluster.Watches().Get(ctx, e.owner, interests[n])
		if !watch.IsDenied(err) {
			break
		}
	}
	return err
}

// ask reads the resource from the target.
func (e *external) ask(ctx context.Context) error {
	c := e.cluster.Resource(e.mapping.Resource, e.manifest.GetNamespace())
	u, err := c.Get(ctx, e.manifest.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !e.distrust(err) {
		e.live = nil
		return nil
	}
	e.live = u
	return errors.Wrapf(err, "cannot get %s %q", e.manifest.GetKind(), e.manifest.GetName())
}
