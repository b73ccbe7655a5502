package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// observeDeleted looks at the resource of an Object that is being deleted. It goes by what the Object last saw, and by the manifest only
// if that is nothing: deletion does not depend on a manifest that can be applied.
func (e *external) observeDeleted(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	e.manifest = identity(o)
	if e.manifest == nil {
		m, err := manifest(o)
		if errors.Is(err, errInvalidManifest) {
			return managed.ExternalObservation{}, nil // It was never applied.
		}
		e.manifest = m
	}
	served, err := e.locate()
	if err != nil || !served {
		return managed.ExternalObservation{}, err // What the target does not serve is gone.
	}
	if err := e.look(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.claim(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	return managed.ExternalObservation{ResourceExists: e.live != nil && e.ours(o), ResourceUpToDate: true}, nil
}

// locate finds how the target serves the kind, in another version if need be, and says whether it does.
func (e *external) locate() (bool, error) {
	gvk := e.manifest.GroupVersionKind()
	m, err := e.cluster.Mapping(e.owner, gvk)
	served := err == nil
	if target.IsNoKind(err) {
		m, served, err = e.cluster.FindKind(gvk.GroupKind())
	}
	if err != nil || !served {
		return false, errors.Wrap(err, "cannot find kind of resource")
	}
	e.mapping = m
	return place(e.manifest, m) == nil, nil // Without a namespace it was never applied.
}

// ours says whether the live resource is the one an Object has made or last seen: by its UID or, if the Object was interrupted before it could
// record that, by the fields it has applied.
func (e *external) ours(o Object) bool {
	if seen := identity(o); seen != nil && seen.GetUID() == e.live.GetUID() {
		return true
	}
	for _, f := range e.live.GetManagedFields() {
		if f.Manager == e.manager && f.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}
