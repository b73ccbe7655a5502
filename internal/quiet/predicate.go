package quiet

import (
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// DesiredStateChanged lets events pass that change what is desired of an object: its spec, labels or annotations, except the external
// name that we give it ourselves.
func DesiredStateChanged() predicate.Predicate {
	return predicate.And(resource.DesiredStateChanged(), predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return !named(e.ObjectOld, e.ObjectNew) },
	})
}

// FinalizerReleased lets updates pass by which an object that is being deleted loses a finalizer: the last other one gone, it is our turn.
func FinalizerReleased() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetDeletionTimestamp() != nil && len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
		},
	}
}

// named says whether an object has got an external name, and nothing else that counts.
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
