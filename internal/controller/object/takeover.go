package object

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// Managers under which provider-kubernetes has written without server-side apply: the name of its program in its
// images, and when it is built by hand. Programs of other providers have the second name, too.
const (
	managerOfImage = "crossplane-kubernetes-provider"
	managerOfBuild = "provider"
)

// legacy returns whose updates count as ours.
func (o Options) legacy() apply.Legacy {
	return apply.Legacy{
		Names: append(slices.Clone(o.LegacyFieldManagers), managerOfImage), Signed: []string{managerOfBuild},
	}
}

// appliedByClient reports whether a resource that was never applied by us has, when last seen, been applied
// client-side. Somebody else has seen it then, and it lacks our label.
func appliedByClient(o Object) bool {
	if o.Observed().Applied != nil {
		return false
	}
	seen := &metav1.PartialObjectMetadata{}
	if decode(o.Observed().Manifest.Raw, seen) != nil {
		return false
	}
	_, annotated := seen.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	return annotated || slices.ContainsFunc(seen.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager == managerOfImage
	})
}

// write applies the manifest, after it has made ours what was applied client-side. That of a resource which could not
// be seen before shows in the answer, and is made ours by a second round.
func (e *external) write(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	live, err := e.migrateAndApply(ctx, o, e.live)
	if err != nil {
		return nil, err
	}
	legacy, err := e.options.legacy().Holds(e.migration(o, live))
	if err != nil || !legacy {
		return live, errors.Wrap(err, "cannot compare resource")
	}
	return e.migrateAndApply(ctx, o, live)
}

func (e *external) migrateAndApply(ctx context.Context, o Object,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	c := e.client()
	if live != nil {
		l := e.options.legacy()
		legacy, err := l.Holds(e.migration(o, live))
		if err != nil {
			return nil, errors.Wrap(err, "cannot compare resource")
		}
		if legacy {
			if _, err := apply.Migrate(ctx, c, l, e.migration(o, live)); err != nil {
				return nil, errors.Wrap(err, "cannot take over resource")
			}
		}
	}
	return e.send(ctx, o, live)
}

// migration returns what of a resource may become ours.
func (e *external) migration(o Object, live *unstructured.Unstructured) apply.Migration {
	return apply.Migration{
		Live: live, Manifest: e.manifest, Manager: e.manager, Owned: policy.Owns(o.GetManagementPolicies()),
	}
}
