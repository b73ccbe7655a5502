package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// purposeManifest is the resource of an Object's manifest.
const purposeManifest watch.Purpose = "manifest"

// look finds the live resource. It asks the target only where no watch can tell.
func (e *external) look(ctx context.Context, o Object) error {
	if !e.mapping.Watchable {
		return e.ask(ctx)
	}
	owns := policy.Owns(o.GetManagementPolicies())
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
	case e.live == nil && owns && meta.WasDeleted(o):
		return e.ask(ctx) // It may only have lost our label.
	}
	return nil
}

// lookThrough looks through the first stream that the target does not deny.
func (e *external) lookThrough(ctx context.Context, scopes []watch.Scope) error {
	var tracked []watch.Interest
	var err error
	for _, s := range scopes {
		i := watch.Interest{
			Resource:       e.mapping.Resource,
			NamespacedName: name(e.manifest),
			Scope:          s,
		}
		tracked = append(tracked, i)
		e.cluster.Watches().Track(e.owner, purposeManifest, tracked...)
		e.live, err = e.cluster.Watches().Get(ctx, e.owner, i)
		if !watch.IsDenied(err) {
			return err //nolint:wrapcheck // The caller wraps it.
		}
	}
	return err //nolint:wrapcheck // The caller wraps it.
}

// ask reads the resource from the target.
func (e *external) ask(ctx context.Context) error {
	c := e.cluster.Resource(e.mapping.Resource, e.manifest.GetNamespace())
	u, err := c.Get(ctx, e.manifest.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		e.live = nil
		return nil
	}
	e.live = u
	return errors.Wrapf(err, "cannot get %s %q", e.manifest.GetKind(), e.manifest.GetName())
}

// ours says whether a resource is the one an Object has made or last seen: by its UID or, if the Object was interrupted before it could
// record that, by the fields it has applied.
func ours(o Object, live *unstructured.Unstructured) bool {
	if uid := recordedUID(o.Observed()); uid != "" && uid == live.GetUID() {
		return true
	}
	for _, f := range live.GetManagedFields() {
		if f.Manager == fieldManager(o) && f.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// recordedUID returns the UID of the resource last seen, empty if none was.
func recordedUID(obs *commonv1.ObjectObservation) types.UID {
	u := &metav1.PartialObjectMetadata{}
	if decode(obs.Manifest.Raw, u) != nil {
		return ""
	}
	return u.GetUID()
}
