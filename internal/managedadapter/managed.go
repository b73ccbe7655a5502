package managedadapter

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// NewReconciler returns crossplane-runtime's reconciler of one kind, with the options that all kinds have.
func NewReconciler(m Manager, o controller.Options, kind schema.GroupVersionKind,
	more ...managed.ReconcilerOption,
) *managed.Reconciler {
	nothing := func(context.Context, client.Object) error { return nil }
	opts := append([]managed.ReconcilerOption{
		managed.WithLogger(o.Logger.WithValues("controller", managed.ControllerName(kind.GroupKind().String()))),
		managed.WithPollInterval(o.PollInterval),
		// They are for finding interrupted creations of resources whose names are not known before.
		managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(nothing)),
		managed.WithDeterministicExternalName(true),
	}, more...)
	if o.MetricOptions != nil {
		opts = append(opts, managed.WithMetricRecorder(o.MetricOptions.MRMetrics))
	}
	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}
	return managed.NewReconciler(m, resource.ManagedKind(kind), opts...)
}

// AddStateMetrics makes a manager count the objects of one kind that exist, are ready and are synced.
func AddStateMetrics(mgr manager.Manager, o controller.Options, list resource.ManagedList) error {
	if o.MetricOptions == nil || o.MetricOptions.MRStateMetrics == nil {
		return nil
	}
	r := statemetrics.NewMRStateRecorder(sharingClient{mgr.GetClient()}, o.Logger, o.MetricOptions.MRStateMetrics, list,
		o.MetricOptions.PollStateMetricInterval)
	return errors.Wrap(mgr.Add(r), "cannot add state metrics")
}

// A sharingClient lists without copying what the cache holds. The recorder of crossplane-runtime lists all resources
// each few seconds and only reads them; copies of ten thousand Objects would be its memory and most of an idle
// provider's CPU.
type sharingClient struct{ client.Client }

// List lists shared objects, which must not be changed.
func (c sharingClient) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return c.Client.List(ctx, list, append(o, client.UnsafeDisableDeepCopy)...)
}
