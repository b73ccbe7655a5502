package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// addStateMetrics makes a manager count the Objects of a scope that exist, are ready and are synced.
func addStateMetrics[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	if o.MetricOptions == nil || o.MetricOptions.MRStateMetrics == nil {
		return nil
	}
	r := statemetrics.NewMRStateRecorder(sharingClient{mgr.GetClient()}, o.Logger, o.MetricOptions.MRStateMetrics,
		k.NewList(),
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
