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

// Hold keeps what an Object refers to from going before the Object, and removes its finalizer from what it no longer
// refers to. The Object must have a finalizer. record must write the pins to the status of the Object; it is called
// before anything is pinned that is not recorded. What is let go is taken off the status in memory only: a record
// without a finalizer does no harm.
func (r *Resolver) Hold(ctx context.Context, f Referrer, res *Resolution,
	record func(context.Context, []commonv1.PinnedReference) error,
) error {
	recorded := f.Observed().References
	pins := slices.Clone(recorded)
	for _, x := range res.found {
		if !slices.Contains(pins, x.pin) {
			pins = append(pins, x.pin)
		}
	}
	if len(res.found) > 0 && len(pins) > len(recorded) {
		if err := record(ctx, pins); err != nil {
			return refused(errors.Wrap(err, "cannot record the references in the status"))
		}
	}
	var worst error
	for _, x := range res.found {
		worst = worse(worst, r.pin(ctx, f, x))
	}
	f.Observed().References = slices.DeleteFunc(pins, func(p commonv1.PinnedReference) bool {
		if res.keeps(p) {
			return false
		}
		err := r.release(ctx, f, p)
		worst = worse(worst, err)
		return err == nil
	})
	return worst
}

// Release removes the finalizer of an Object from all that it refers to. References need not lead anywhere.
func (r *Resolver) Release(ctx context.Context, f Referrer) error {
	pins := f.Observed().References
	var worst error
	for _, p := range pins {
		worst = worse(worst, r.release(ctx, f, p))
	}
	// An earlier provider has kept no record. Our finalizer bears our UID, so that nothing is lost by taking it off
	// wherever it is.
	rules := Rules{GVK: f.GVK, Namespace: f.GetNamespace(), CrossNamespace: true}
	for _, ref := range Normalise(f.Desired(), rules) {
		if ref.Err != nil || ref.Selector != "" || slices.ContainsFunc(pins, ref.isOf) {
			continue
		}
		at, served, err := r.at(ctx, pinOf(ref.GVK, &metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}))
		if err != nil || !served {
			continue // What cannot be found has not been pinned by us.
		}
		_, err = r.editor.set(ctx, at, change{finalizer: f.finalizer()}, nil)
		if !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsBadRequest(err) &&
			!apierrors.IsInvalid(err) { // All others may pass by themselves.
			worst = worse(worst, refused(errors.Wrapf(err, "cannot remove the finalizer of the provider from %s", &ref)))
		}
	}
	return worst
}

// worse returns the error that says more: a conflict only says that something is not done yet.
func worse(a, b error) error {
	if a == nil || apierrors.IsConflict(a) && b != nil {
		return b
	}
	return a
}

// release removes our finalizer from one resource.
func (r *Resolver) release(ctx context.Context, f Referrer, p commonv1.PinnedReference) error {
	at, served, err := r.at(ctx, p)
	if err == nil && served {
		var known metav1.Object // An Object that shows no finalizer of ours may not show it yet.
		objs, failed := r.lookup(ctx, pinned(p), nil)
		if failed == nil && len(objs) > 0 && objs[0].GetUID() == p.UID &&
			slices.Contains(objs[0].GetFinalizers(), f.finalizer()) {
			known = objs[0].Object
		}
		_, err = r.editor.set(ctx, at, change{finalizer: f.finalizer()}, known)
	}
	return refused(errors.Wrapf(err, "cannot remove the finalizer of the provider from %s", describe(p.Kind, nameOf(p))))
}

// pin keeps a resource from going.
func (r *Resolver) pin(ctx context.Context, f Referrer, x *found) error {
	what := describe(x.pin.Kind, nameOf(x.pin))
	at, _, err := r.at(ctx, x.pin)
	if err == nil {
		now, failed := r.editor.set(ctx, at, change{finalizer: f.finalizer(), add: true}, x)
		if err = failed; err == nil && !slices.Contains(now.GetFinalizers(), f.finalizer()) {
			return waiting("%s, which was deleted, to be recreated", what)
		}
	}
	return refused(errors.Wrapf(err, "cannot add the finalizer of the provider to %s", what))
}

// at returns where a resource is, and whether the control plane serves its kind, in another version if need be.
func (r *Resolver) at(ctx context.Context, p commonv1.PinnedReference) (at edited, served bool, err error) {
	m, served, err := r.options.Cluster.Locate(ctx, kindOf(p))
	at = edited{GroupVersionResource: m.Resource, name: nameOf(p), uid: p.UID}
	if !m.Namespaced {
		at.name.Namespace = ""
	}
	return at, served && (at.name.Namespace != "" || !m.Namespaced), err
}

const (
	// strandedAfter is how long after the deletion of an Object a finalizer on it may belong to an Object the cache
	// does not hold yet.
	strandedAfter = 10 * time.Second
	// namesMost is how many dependents a message names.
	namesMost = 5
)

// Dependents returns an error that names the Objects which keep a deleted one, nil if there are none. Finalizers that
// keep it for no reason are taken off: of Objects that are gone or refer to it no more, as earlier providers leave them
// behind, and of those that it refers to itself, as each would wait for the other. We do not look for longer cycles:
// whoever makes one takes a reference off. The error then is a conflict, because the Object is not in its newest state
// any more.
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
	// A finalizer is not added after the deletion, so that the cache has had this long to hear of its author.
	old := time.Since(f.GetDeletionTimestamp().Time) > strandedAfter
	own := r.edges(f)
	var names, stranded []string
	for _, finalizer := range finalizers {
		name, void := "an Object with UID "+strings.TrimPrefix(finalizer, commonv1.FinalizerReferredPrefix), old
		if i := slices.IndexFunc(all, func(d Referrer) bool { return d.finalizer() == finalizer }); i >= 0 {
			name = describe(all[i].GVK.Kind, all[i].node().name)
			// A deleted one that refers to something else by now would take it off when it goes, which this one may be
			// in the way of.
			void = f.needs(own, all[i]) || all[i].GetDeletionTimestamp() != nil && !leadTo(r.edges(all[i]), f)
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

// needs reports whether one of the references of an Object names another one, or has pinned it: a selector may select
// more than it leads to.
func (f Referrer) needs(refs []Reference, o Referrer) bool {
	return slices.ContainsFunc(refs, func(r Reference) bool { return r.node() == o.node() }) ||
		slices.ContainsFunc(f.Observed().References, func(p commonv1.PinnedReference) bool { return pinned(p) == o.node() })
}

// leadTo reports whether one of some references names or selects an Object.
func leadTo(refs []Reference, o Referrer) bool {
	return slices.ContainsFunc(refs,
		func(r Reference) bool { return r.node() == o.node() || r.selects(o.GVK.GroupKind(), o) })
}

// free takes finalizers off an Object. Its error is never nil.
func (r *Resolver) free(ctx context.Context, f Referrer, finalizers []string) error {
	at, _, err := r.at(ctx, pinOf(f.GVK, f))
	if err != nil {
		return refused(errors.Wrap(err, "cannot find kind of Object"))
	}
	err = apierrors.NewConflict(at.GroupResource(), f.GetName(), errors.New("it has lost finalizers"))
	var known metav1.Object = f
	for _, finalizer := range finalizers {
		now, failed := r.editor.set(ctx, at, change{finalizer: finalizer}, known)
		known, err = now, worse(err, failed)
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
