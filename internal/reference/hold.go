package reference

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// Hold keeps what an Object refers to from going before the Object, and removes its finalizer from what it no longer
// refers to. The Object must have a finalizer. record must write the pins to the status of the Object; it is called
// before anything is pinned that is not recorded. What is let go is taken off the status in memory only: a record
// without a finalizer does no harm.
func (r *Resolver) Hold(ctx context.Context, f Referrer, res *Resolution,
	record func(context.Context, []commonv1.PinnedReference) error,
) error {
	if r.editor.pending(f.Owner) {
		return queuedError{}
	}
	pins := slices.Concat(f.Observed().References, res.loose)
	for _, x := range res.found {
		if !slices.Contains(pins, x.pin) {
			pins = append(pins, x.pin)
		}
	}
	if len(res.found) > 0 && len(pins) > len(f.Observed().References) {
		if err := record(ctx, pins); err != nil {
			return refused(errors.Wrap(err, "cannot record references"))
		}
	}
	var first error
	failed := func(err error) bool {
		if first == nil {
			first = err
		}
		return err != nil
	}
	missing := slices.DeleteFunc(slices.Clone(res.found), func(x *found) bool { return r.pinned(f, x) })
	by := r.editor.editFor(len(missing))
	for _, x := range missing {
		failed(r.pin(ctx, f, x, by))
	}
	by = r.editor.editFor(len(slices.DeleteFunc(slices.Clone(pins), res.keeps)))
	f.Observed().References = slices.DeleteFunc(pins, func(p commonv1.PinnedReference) bool {
		return !res.keeps(p) && !failed(r.release(ctx, f, p, by))
	})
	return first
}

// Release removes the finalizer of an Object from all that it refers to. References need not lead anywhere.
func (r *Resolver) Release(ctx context.Context, f Referrer) error {
	if r.editor.pending(f.Owner) {
		return queuedError{}
	}
	pins := f.Observed().References
	var queued error
	by := r.editor.editFor(len(pins))
	for _, p := range pins {
		err := r.release(ctx, f, p, by)
		if err != nil && !apierrors.IsConflict(err) {
			return err
		}
		if err != nil {
			queued = err
		}
	}
	if queued != nil {
		return queued
	}
	// An earlier provider has kept no record. Our finalizer bears our UID, so that nothing is lost by taking it off
	// wherever it is.
	rules := Rules{GVK: f.GVK, Namespace: f.GetNamespace(), CrossNamespace: true}
	for _, ref := range Normalise(f.Desired(), rules) {
		if ref.Err != nil || ref.Selector != "" || recorded(pins, &ref) {
			continue
		}
		if err := r.releaseUnrecorded(ctx, f, &ref); err != nil {
			return err
		}
	}
	return nil
}

// recorded reports whether there is a pin of what a reference names.
func recorded(pins []commonv1.PinnedReference, ref *Reference) bool {
	return slices.ContainsFunc(pins, func(p commonv1.PinnedReference) bool {
		return kindOf(p).GroupKind() == ref.GVK.GroupKind() && p.Name == ref.Name &&
			(p.Namespace == ref.Namespace || p.Namespace == "")
	})
}

// releaseUnrecorded removes our finalizer from what a reference names, if that exists. Only what may pass by itself is
// an error.
func (r *Resolver) releaseUnrecorded(ctx context.Context, f Referrer, ref *Reference) error {
	m, served, err := r.serve(ctx, f.Owner, ref.GVK)
	if err != nil || !served || m.Namespaced && ref.Namespace == "" {
		return nil //nolint:nilerr // What cannot be found has not been pinned by us.
	}
	p := commonv1.PinnedReference{APIVersion: ref.GVK.GroupVersion().String(), Kind: ref.GVK.Kind, Name: ref.Name}
	if m.Namespaced {
		p.Namespace = ref.Namespace
	}
	_, err = r.editor.now(ctx, locate(m, p), f.unpin(p))
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInvalid(err) {
		return nil
	}
	return refused(errors.Wrapf(err, "cannot release %s", ref))
}

// release removes our finalizer from one resource.
func (r *Resolver) release(ctx context.Context, f Referrer, p commonv1.PinnedReference, by edit) error {
	m, served, err := r.serve(ctx, f.Owner, kindOf(p))
	if err == nil && served {
		c := f.unpin(p)
		c.last = f.GetDeletionTimestamp() != nil
		at := locate(m, p)
		if c.known, err = r.known(ctx, p, at); err == nil {
			_, err = by(ctx, at, c)
		}
	}
	return refused(errors.Wrapf(err, "cannot release %s", describe(p.Kind, nameOf(p))))
}

// known returns a pinned Object as far as it is known without a request, nil if the cache does not hold it.
func (r *Resolver) known(ctx context.Context, p commonv1.PinnedReference, at location) (metav1.Object, error) {
	gvk := kindOf(p)
	if !r.isObject(gvk) {
		return nil, nil //nolint:nilnil // Other kinds are not cached.
	}
	o, err := r.objects.get(ctx, gvk.GroupKind(), nameOf(p))
	if o == nil || err != nil {
		return nil, err
	}
	return r.editor.newest(at, o), nil
}

// serve finds how the control plane serves a kind, in another version if need be, and reports whether it does.
func (r *Resolver) serve(ctx context.Context, o informer.Owner,
	gvk schema.GroupVersionKind,
) (target.Mapping, bool, error) {
	m, err := r.cluster.Mapping(ctx, o, gvk)
	if target.IsNoKind(err) {
		return r.cluster.FindKind(ctx, gvk.GroupKind())
	}
	return m, err == nil, err
}

// pinned reports whether a resource is kept from going already.
func (r *Resolver) pinned(f Referrer, x *found) bool {
	at := locate(x.mapping, x.pin)
	if !slices.Contains(r.editor.newest(at, x).GetFinalizers(), f.finalizer()) {
		return false
	}
	c := f.unpin(x.pin)
	c.add = true
	r.editor.result(at, &c) // It is not needed any more.
	return true
}

// pin keeps a resource from going.
func (r *Resolver) pin(ctx context.Context, f Referrer, x *found, by edit) error {
	c := f.unpin(x.pin)
	at := locate(x.mapping, x.pin)
	c.add, c.known = true, r.editor.newest(at, x)
	done := r.cluster.Watches().Writing(f.Owner, x.mapping.Resource, nameOf(x.pin))
	u, err := by(ctx, at, c)
	done(u)
	what := describe(x.pin.Kind, nameOf(x.pin))
	if err == nil && u == nil {
		return waiting("%s, which has gone, to be made anew", what)
	}
	return refused(errors.Wrapf(err, "cannot pin %s", what))
}

// unpin returns the change that removes our finalizer from a resource.
func (f Referrer) unpin(p commonv1.PinnedReference) change {
	return change{owner: f.Owner, uid: p.UID, finalizers: []string{f.finalizer()}}
}

// kindOf returns the kind of a pinned resource.
func kindOf(p commonv1.PinnedReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(p.APIVersion, p.Kind)
}

// nameOf returns the namespace and name of a pinned resource.
func nameOf(p commonv1.PinnedReference) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}
