package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpresource "github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// Initialize holds a deleted Object back while others refer to it: they need its resource to go themselves.
func (c *reconciler[T]) Initialize(ctx context.Context, mg xpresource.Managed) error {
	if !meta.WasDeleted(mg) {
		return nil
	}
	return reconciliationOf(ctx).fail(c.options.References.Dependents(ctx, c.referrer(mg)))
}

// ResolveReferences follows the references of an Object, and keeps what they lead to if the Object has our finalizer.
// If it has none yet, it gets one first, once its target has been reached.
func (c *reconciler[T]) ResolveReferences(ctx context.Context, mg xpresource.Managed) error {
	p := reconciliationOf(ctx)
	res, err := c.options.References.Resolve(ctx, c.referrer(mg))
	p.references = res
	if meta.FinalizerExists(mg, managed.FinalizerName) {
		if err := c.hold(ctx, mg); err != nil {
			return err
		}
	}
	return p.fail(err)
}

// hold keeps what the references of an Object lead to, once in a reconcile.
func (c *reconciler[T]) hold(ctx context.Context, obj client.Object) error {
	p := reconciliationOf(ctx)
	if p.held || p.references == nil {
		return nil
	}
	f := c.referrer(obj)
	record := func(ctx context.Context, pins []commonv1.PinnedReference) error {
		return c.record(ctx, objectOf(obj), func(obs *commonv1.ObjectObservation) { obs.References = pins })
	}
	err := c.options.References.Hold(ctx, f, p.references, record)
	p.held = err == nil
	return p.fail(err)
}

func (c *reconciler[T]) referrer(obj client.Object) reference.Referrer {
	return reference.Referrer{Object: objectOf(obj), GVK: c.kind.GVK, Owner: c.owner(client.ObjectKeyFromObject(obj))}
}

// unseen returns what a deleted Object that has seen no resource may have applied in its last moments, nil if nothing.
func (e deletion) unseen(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	refs, err := e.options.References.Resolve(ctx, reference.Referrer{Object: o, GVK: e.gvk, Owner: e.Owner})
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
