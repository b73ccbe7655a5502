package reference

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Leaving reports whether an Object that a deleted one has pinned goes as well, or has gone. Until all such are gone
// the error names one of them, IsAwaited is true for it, and the owner is told of what becomes of them.
func (r *Resolver) Leaving(ctx context.Context, f Referrer) (leaves bool, err error) {
	pins := r.pinnedObjects(f)
	wants := make([]fieldInterest, 0, len(pins))
	for _, p := range pins {
		wants = append(wants, fieldInterest{objectInterest: objectInterest{
			NamespacedName: nameOf(p), kind: kindOf(p).GroupKind(),
		}})
	}
	// Before they are looked at, or what happens in between would stay unknown.
	r.objects.track(f.Owner, f.finalizer(), wants)
	for i, p := range pins {
		o, err := r.objects.get(ctx, wants[i].kind, nameOf(p))
		if err != nil {
			return false, refused(err)
		}
		gone := o == nil || o.GetUID() != p.UID
		if !gone && o.GetDeletionTimestamp() != nil {
			return true, waiting("%s to be deleted", describe(p.Kind, nameOf(p)))
		}
		leaves = leaves || gone
	}
	return leaves, nil
}

// pinnedObjects returns the pins of Objects, without those of its owners: an owner may wait for what it owns.
func (r *Resolver) pinnedObjects(f Referrer) []commonv1.PinnedReference {
	return slices.DeleteFunc(slices.Clone(f.Observed().References), func(p commonv1.PinnedReference) bool {
		owns := slices.ContainsFunc(f.GetOwnerReferences(),
			func(o metav1.OwnerReference) bool { return o.UID == p.UID })
		return owns || !r.isObject(kindOf(p))
	})
}
