package reference

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

const (
	// indexUID is the index of the cache by which an Object is found by its UID.
	indexUID = "metadata.uid"
	// strandedAfter is how long after the deletion of an Object a finalizer on it may belong to an Object the cache
	// does not hold yet.
	strandedAfter = 10 * time.Second
	// namesMost is how many dependents a message names.
	namesMost = 5
)

// Serve tells that the control plane serves a kind of Objects, and makes the cache find them by their UID. Until then
// there are none. A kind that is served when the first controller starts must be told of before, or who keeps an Object
// may be taken for gone.
func (r *Resolver) Serve(ctx context.Context, i client.FieldIndexer, gk schema.GroupKind) error {
	uid := func(o client.Object) []string { return []string{string(o.GetUID())} }
	if err := i.IndexField(ctx, r.objects.kinds[gk].New(), indexUID, uid); err != nil {
		return errors.Wrapf(err, "cannot index %s", gk)
	}
	r.objects.serve(gk)
	return nil
}

// A dependent is an Object that keeps another by a finalizer.
type dependent struct {
	Object // nil if none has that UID

	kind      Kind
	finalizer string
}

// String names the dependent for users.
func (d dependent) String() string {
	if d.Object == nil {
		return "an Object with UID " + strings.TrimPrefix(d.finalizer, commonv1.FinalizerReferredPrefix)
	}
	return describe(d.kind.GVK.Kind, client.ObjectKeyFromObject(d))
}

// Dependents returns an error that names the Objects which keep a deleted one, nil if there are none. Finalizers that
// keep it for no reason are taken off; the error then is a conflict, as the Object is not in its newest state any more.
func (r *Resolver) Dependents(ctx context.Context, f Referrer) error {
	var names, stranded []string
	w := newWalk(r)
	here := objectInterest{NamespacedName: client.ObjectKeyFromObject(f), kind: f.GVK.GroupKind()}
	if _, err := w.visit(ctx, here); err != nil {
		return refused(err)
	}
	for _, finalizer := range f.GetFinalizers() {
		if !strings.HasPrefix(finalizer, commonv1.FinalizerReferredPrefix) {
			continue
		}
		d, err := r.dependent(ctx, finalizer)
		if err != nil {
			return refused(err)
		}
		void, err := r.void(ctx, f, d, w)
		switch {
		case err != nil:
			return refused(err)
		case void:
			stranded = append(stranded, finalizer)
		default:
			names = append(names, d.String())
		}
	}
	if len(stranded) > 0 {
		return r.free(ctx, f, stranded)
	}
	return waitingForDependents(names)
}

func waitingForDependents(names []string) error {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	if len(names) > namesMost {
		names = append(names[:namesMost], "and others") // A number would be a write of status for each that goes.
	}
	return problem{
		error:  errors.New("waiting for dependents to be deleted: " + strings.Join(names, ", ")),
		reason: commonv1.ReasonWaitingForDependents,
	}
}

// dependent returns who has put a finalizer on an Object.
func (r *Resolver) dependent(ctx context.Context, finalizer string) (dependent, error) {
	uid := strings.TrimPrefix(finalizer, commonv1.FinalizerReferredPrefix)
	for gk, k := range r.objects.kinds {
		objs, err := r.objects.list(ctx, gk, client.MatchingFields{indexUID: uid})
		if err != nil {
			return dependent{}, err
		}
		if len(objs) > 0 {
			return dependent{Object: objs[0], kind: k, finalizer: finalizer}, nil
		}
	}
	return dependent{finalizer: finalizer}, nil
}

// void reports whether a finalizer on a deleted Object keeps it for no reason. The Object that has put it there may be
// gone, or may refer to this one no more: earlier providers leave such finalizers behind. Or both are in one cycle, so
// that each would wait for the other. The walk has visited all that the Object leads to.
func (r *Resolver) void(ctx context.Context, f Referrer, d dependent, w *walk) (bool, error) {
	// A finalizer is not added after the deletion, so that the cache has had this long to hear of its author.
	old := time.Since(f.GetDeletionTimestamp().Time) > strandedAfter
	if d.Object == nil {
		return old, nil
	}
	here := objectInterest{NamespacedName: client.ObjectKeyFromObject(f), kind: f.GVK.GroupKind()}
	refers, err := r.refers(ctx, d, here)
	if err != nil {
		return false, err
	}
	if !refers {
		pinned := slices.ContainsFunc(d.Observed().References,
			func(p commonv1.PinnedReference) bool { return p.UID == f.GetUID() })
		return old && !pinned, nil
	}
	return w.visited[objectInterest{NamespacedName: client.ObjectKeyFromObject(d), kind: d.kind.GVK.GroupKind()}], nil
}

// refers reports whether an Object refers to another.
func (r *Resolver) refers(ctx context.Context, d dependent, to objectInterest) (bool, error) {
	for _, w := range r.neighbours(d.Object, d.kind.GVK.GroupKind()) {
		if w == to {
			return true, nil
		}
		if w.selector == "" || w.kind != to.kind {
			continue
		}
		objs, err := r.objects.lookup(ctx, w)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(objs, func(o Object) bool { return client.ObjectKeyFromObject(o) == to.NamespacedName }) {
			return true, nil
		}
	}
	return false, nil
}

// free takes finalizers off an Object. Its error is never nil.
func (r *Resolver) free(ctx context.Context, f Referrer, finalizers []string) error {
	m, _, err := r.serve(ctx, f.Owner, f.GVK)
	if err != nil {
		return refused(errors.Wrap(err, "cannot find kind of Object"))
	}
	pin := commonv1.PinnedReference{Namespace: f.GetNamespace(), Name: f.GetName(), UID: f.GetUID()}
	_, err = r.editor.now(ctx, locate(m, pin), change{owner: f.Owner, uid: pin.UID, finalizers: finalizers, known: f})
	if err != nil {
		return refused(errors.Wrap(err, "cannot remove finalizers of Objects that are gone"))
	}
	return apierrors.NewConflict(m.Resource.GroupResource(), f.GetName(),
		errors.New("finalizers of Objects that are gone were removed"))
}
