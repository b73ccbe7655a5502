package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpresource "github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// references are the references of Objects of one scope, in the steps of crossplane-runtime.
type references struct {
	resolver   *reference.Resolver
	recorder   event.Recorder
	local      client.Client
	controller string
	gvk        schema.GroupVersionKind
}

// Initialize holds a deleted Object back while others refer to it: they need its resource to go themselves.
func (r references) Initialize(ctx context.Context, mg xpresource.Managed) error {
	if !meta.WasDeleted(mg) {
		return nil
	}
	return reconciliationOf(ctx).failReference(r.resolver.Dependents(ctx, r.referrer(mg)))
}

// ResolveReferences follows the references of an Object, and keeps what they lead to if the Object has our finalizer.
// If it has none yet, it gets one first, once its target has been reached.
func (r references) ResolveReferences(ctx context.Context, mg xpresource.Managed) error {
	p := reconciliationOf(ctx)
	res, err := r.resolver.Resolve(ctx, r.referrer(mg))
	p.references = res
	if meta.FinalizerExists(mg, managed.FinalizerName) {
		if err := r.hold(ctx, mg); err != nil {
			return err
		}
	}
	return p.failReference(err)
}

// hold keeps what the references of an Object lead to, once in a pass.
func (r references) hold(ctx context.Context, obj client.Object) error {
	p := reconciliationOf(ctx)
	if p.held || p.references == nil {
		return nil
	}
	f := r.referrer(obj)
	err := r.resolver.Hold(ctx, f, p.references, func(ctx context.Context, pins []commonv1.PinnedReference) error {
		return r.record(ctx, f, pins)
	})
	p.held = err == nil
	return p.failReference(err)
}

// record writes the pins of an Object to its status. The rest of the status stays as it is in memory.
func (r references) record(ctx context.Context, f reference.Referrer, pins []commonv1.PinnedReference) error {
	o := copyOf(f.Object)
	before := client.MergeFromWithOptions(copyOf(o), client.MergeFromWithOptimisticLock{})
	o.Observed().References = pins
	if err := r.local.Status().Patch(ctx, o, before); err != nil {
		return errors.Wrap(err, "cannot patch status of Object")
	}
	f.SetResourceVersion(o.GetResourceVersion())
	f.Observed().References = pins
	return nil
}

// awaitDependents keeps a deleted Object that leaves its resource while others refer to it. Of such an Object
// crossplane-runtime tells nothing but the condition.
func (r references) awaitDependents(ctx context.Context, obj client.Object) error {
	err := r.resolver.Dependents(ctx, r.referrer(obj))
	if reference.IsAwaited(err) {
		r.recorder.Event(obj, event.Warning(event.Reason(commonv1.ReasonWaitingForDependents), err))
	}
	return reconciliationOf(ctx).failReference(err)
}

// release removes our finalizer from all that a deleted Object refers to. If what others make must stay gone until that
// has gone, too, the Object waits.
func (r references) release(ctx context.Context, obj client.Object) error {
	p := reconciliationOf(ctx)
	if err := r.resolver.Release(ctx, r.referrer(obj)); err != nil {
		return p.failReference(err)
	}
	return p.failReference(p.leaving)
}

func (r references) referrer(obj client.Object) reference.Referrer {
	return reference.Referrer{Object: objectOf(obj), GVK: r.gvk, Owner: informer.Owner{
		Controller: r.controller, NamespacedName: client.ObjectKeyFromObject(obj),
	}}
}

// failReference remembers why the references of an Object keep it from going on, if they do.
func (r *reconciliation) failReference(err error) error {
	if err == nil {
		return nil
	}
	return r.fail(err)
}

// unseen returns what a deleted Object that has seen no resource may have applied in its last moments, nil if nothing.
func (e deletion) unseen(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	refs, err := e.options.References.Resolve(ctx, reference.Referrer{Object: o, GVK: e.gvk, Owner: e.owner})
	if apierrors.IsConflict(err) {
		return nil, err // It is too early to tell.
	}
	if err != nil && reference.Names(o.Desired()) {
		return nil, nil //nolint:nilnil // Nothing is applied before its name is known.
	}
	m, err := manifest(o, refs)
	if errors.Is(err, errInvalidManifest) || reference.ReasonOf(err) != "" {
		return nil, nil //nolint:nilnil // What cannot be applied has not been.
	}
	return m, err
}
