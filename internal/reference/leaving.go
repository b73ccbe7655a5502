package reference

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Leaving returns an error that names another Object which a deleted one has pinned and which is being deleted, too, nil if there is none.
// An owner is none: it may wait for what it owns.
func (r *Resolver) Leaving(ctx context.Context, f Referrer) error {
	for _, p := range f.Observed().References {
		owns := slices.ContainsFunc(f.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == p.UID })
		if owns || !r.isObject(kindOf(p)) {
			continue
		}
		o, err := r.objects.get(ctx, kindOf(p).GroupKind(), nameOf(p))
		if err != nil {
			return refused(err)
		}
		if o != nil && o.GetUID() == p.UID && o.GetDeletionTimestamp() != nil {
			return waiting("%s to be deleted", describe(p.Kind, nameOf(p)))
		}
	}
	return nil
}
