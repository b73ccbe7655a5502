package managedadapter

import (
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// DesiredStateChanged lets events pass that change what is desired of an object: its spec, labels or annotations,
// except the external name that we give it ourselves. An object that is older than it was may differ in all of that:
// the control plane was restored. It also lets updates pass by which an object that is being deleted loses a finalizer:
// the last other one gone, it is our turn.
func DesiredStateChanged() predicate.Predicate {
	desired := resource.DesiredStateChanged()
	return predicate.Funcs{
		CreateFunc:  desired.Create,
		DeleteFunc:  desired.Delete,
		GenericFunc: desired.Generic,
		UpdateFunc: func(e event.UpdateEvent) bool {
			released := e.ObjectNew.GetDeletionTimestamp() != nil &&
				len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
			return released || WentBack(e.ObjectOld, e.ObjectNew) ||
				desired.Update(e) && !named(e.ObjectOld, e.ObjectNew)
		},
	}
}

// WentBack reports whether an object is older than it was, as after a restore of the control plane from a backup. Its
// generation tells nothing then: the same one was given to another spec.
func WentBack(before, after client.Object) bool {
	c, err := resourceversion.CompareResourceVersion(after.GetResourceVersion(), before.GetResourceVersion())
	return err == nil && c < 0
}

// named reports whether an object has got an external name, and nothing else that counts.
func named(before, after client.Object) bool {
	if before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetLabels(), after.GetLabels()) {
		return false
	}
	if _, ok := before.GetAnnotations()[meta.AnnotationKeyExternalName]; ok {
		return false
	}
	rest := maps.Clone(after.GetAnnotations())
	delete(rest, meta.AnnotationKeyExternalName)
	return maps.Equal(rest, before.GetAnnotations())
}
