package reference

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

const (
	// strandedAfter is how long after the deletion of an Object a finalizer on it may belong to an Object the cache
	// does not hold yet.
	strandedAfter = 10 * time.Second
	// namesMost is how many dependents a message names.
	namesMost = 5
)

// Dependents returns an error that names the Objects which keep a deleted one, nil if there are none. Finalizers that
// keep it for no reason are taken off: of Objects that are gone or refer to it no more, as earlier providers leave them
// behind, and of those in a cycle with it, as each would wait for the other. The error then is a conflict, because the
// Object is not in its newest state any more.
func (r *Resolver) Dependents(ctx context.Context, f Referrer) error {
	finalizers := slices.DeleteFunc(slices.Clone(f.GetFinalizers()),
		func(s string) bool { return !strings.HasPrefix(s, commonv1.FinalizerReferredPrefix) })
	if len(finalizers) == 0 {
		return nil
	}
	all, err := r.referrers(ctx, f.GVK.GroupKind(), f)
	if err != nil {
		return refused(err)
	}
	cycle, err := r.cycles(ctx, f)
	if err != nil {
		return err
	}
	// A finalizer is not added after the deletion, so that the cache has had this long to hear of its author.
	old := time.Since(f.GetDeletionTimestamp().Time) > strandedAfter
	var names, stranded []string
	for _, finalizer := range finalizers {
		name, void := "an Object with UID "+strings.TrimPrefix(finalizer, commonv1.FinalizerReferredPrefix), old
		if i := slices.IndexFunc(all, func(d Referrer) bool { return d.finalizer() == finalizer }); i >= 0 {
			name = describe(all[i].GVK.Kind, all[i].node().name)
			_, void = cycle[all[i].node()]
			// A deleted one that refers to something else by now would take it off when it goes, which this one may be
			// in the way of.
			void = void || all[i].GetDeletionTimestamp() != nil && !slices.ContainsFunc(r.edges(all[i]),
				func(ref Reference) bool { return ref.node() == f.node() || ref.selects(f.GVK.GroupKind(), f) })
		}
		if void {
			stranded = append(stranded, finalizer)
		} else {
			names = append(names, name)
		}
	}
	if len(stranded) > 0 {
		return r.free(ctx, f, stranded)
	}
	slices.Sort(names)
	if len(names) > namesMost {
		names = append(names[:namesMost], "and others") // A number would be a write of status for each that goes.
	}
	return problem{
		errors.New("waiting for the deletion of Objects that refer to this one: " + strings.Join(names, ", ")),
		commonv1.ReasonWaitingForDependents,
	}
}

// free takes finalizers off an Object. Its error is never nil.
func (r *Resolver) free(ctx context.Context, f Referrer, finalizers []string) error {
	at, _, err := r.at(ctx, f.Owner, pinOf(f.GVK, f))
	if err != nil {
		return refused(errors.Wrap(err, "cannot find kind of Object"))
	}
	err = apierrors.NewConflict(at.GroupResource(), f.GetName(), errors.New("it has lost finalizers"))
	for _, finalizer := range finalizers {
		_, failed := r.editor.set(ctx, at, change{finalizer: finalizer}, f)
		err = worse(err, failed)
	}
	return refused(errors.Wrap(err, "cannot remove the finalizers of deleted Objects"))
}

// Leaving reports whether an Object that a deleted one has pinned goes as well, or has gone. Until all such are gone
// the error names one of them, and IsAwaited is true for it. Owners of the deleted Object do not count, as they may
// wait for what they own.
func (r *Resolver) Leaving(ctx context.Context, f Referrer) (leaves bool, err error) {
	for _, p := range f.Observed().References {
		owns := slices.ContainsFunc(f.GetOwnerReferences(),
			func(o metav1.OwnerReference) bool { return o.UID == p.UID })
		if owns || !r.has(pinned(p)) {
			continue
		}
		o, err := r.lookup(ctx, pinned(p), nil)
		if err != nil {
			return false, refused(err)
		}
		gone := len(o) == 0 || o[0].GetUID() != p.UID
		if !gone && o[0].GetDeletionTimestamp() != nil {
			return true, waiting("%s to be deleted", describe(p.Kind, nameOf(p)))
		}
		leaves = leaves || gone
	}
	return leaves, nil
}
