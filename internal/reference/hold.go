package reference

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// Hold keeps what an Object refers to from going before the Object, and removes its finalizer from what it no longer
// refers to. The Object must have a finalizer. record must write the pins to the status of the Object; it is called
// before anything is pinned that is not recorded. What is let go is taken off the status in memory only: a record
// without a finalizer does no harm.
func (r *Resolver) Hold(ctx context.Context, f Referrer, res *Resolution,
	record func(context.Context, []commonv1.PinnedReference) error,
) error {
	recorded := f.Observed().References
	pins := slices.Concat(recorded, res.loose)
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
		at, served, err := r.at(ctx, f.Owner, pinOf(ref.GVK, &metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}))
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
	at, served, err := r.at(ctx, f.Owner, p)
	if err == nil && served {
		var objs []Referrer
		var known metav1.Object
		if objs, err = r.lookup(ctx, pinned(p), nil); len(objs) > 0 {
			known = objs[0].Object
		}
		if err == nil {
			_, err = r.editor.set(ctx, at, change{finalizer: f.finalizer()}, known)
		}
	}
	return refused(errors.Wrapf(err, "cannot remove the finalizer of the provider from %s", describe(p.Kind, nameOf(p))))
}

// pin keeps a resource from going.
func (r *Resolver) pin(ctx context.Context, f Referrer, x *found) error {
	what := describe(x.pin.Kind, nameOf(x.pin))
	at, _, err := r.at(ctx, f.Owner, x.pin)
	if err == nil {
		now, failed := r.editor.set(ctx, at, change{finalizer: f.finalizer(), add: true}, x)
		if err = failed; err == nil && !slices.Contains(now.GetFinalizers(), f.finalizer()) {
			return waiting("%s, which was deleted, to be recreated", what)
		}
	}
	return refused(errors.Wrapf(err, "cannot add the finalizer of the provider to %s", what))
}

// at returns where a resource is, and whether the control plane serves its kind, in another version if need be.
func (r *Resolver) at(ctx context.Context, o informer.Owner,
	p commonv1.PinnedReference,
) (at resource, served bool, err error) {
	m, served, err := r.options.Cluster.Locate(ctx, o, kindOf(p))
	at = resource{GroupVersionResource: m.Resource, name: nameOf(p), uid: p.UID}
	if !m.Namespaced {
		at.name.Namespace = ""
	}
	return at, served && (at.name.Namespace != "" || !m.Namespaced), err
}
