package managedadapter

import (
	"context"
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
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

// failing counts what somebody may have to act on: the gauges of crossplane-runtime do not tell it from what is paused.
var failing = promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
	Name: "provider_kcp_failing_resources",
	Help: "How many resources of a kind have a condition that is False, without those that are paused.",
}, []string{"gvk", "condition"})

// AddStateMetrics makes a manager count the resources of one kind each few seconds, if owned reports that they are this
// process's. Those that are no managed resources are counted as failing only. The recorder of crossplane-runtime would
// copy each Object that it counts, and hold all of them until it counts again (statemetrics/mr_state_metrics.go of
// v2.4).
func AddStateMetrics(mgr manager.Manager, o controller.Options, gvk schema.GroupVersionKind,
	owned func(client.Object) bool,
) error {
	if o.MetricOptions == nil || o.MetricOptions.MRStateMetrics == nil {
		return nil
	}
	count := func(ctx context.Context) {
		var all []Conditioned
		list, err := mgr.GetScheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err == nil {
			//nolint:forcetypeassert // A list of one of our kinds is one.
			err = mgr.GetClient().List(ctx, list.(client.ObjectList), client.UnsafeDisableDeepCopy)
		}
		if err == nil {
			err = apimeta.EachListItem(list, func(item runtime.Object) error {
				if r, ok := item.(Conditioned); ok && owned(r) {
					all = append(all, r)
				}
				return nil
			})
		}
		if err != nil {
			o.Logger.Info("Cannot count", "kind", gvk.Kind, "error", err)
			return
		}
		_, isManaged := list.(resource.ManagedList)
		tally(o.MetricOptions.MRStateMetrics, gvk.String(), all, isManaged)
	}
	return errors.Wrap(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, count, o.MetricOptions.PollStateMetricInterval)
		return nil
	})), "cannot add state metrics")
}

// A Conditioned resource has conditions.
type Conditioned interface {
	client.Object
	resource.Conditioned
}

// tally sets the gauges of a kind.
func tally(m *statemetrics.MRStateMetrics, kind string, all []Conditioned, isManaged bool) {
	if isManaged {
		m.Exists.WithLabelValues(kind).Set(float64(len(all)))
	}
	for t, is := range map[xpv2.ConditionType]*prometheus.GaugeVec{xpv2.TypeReady: m.Ready, xpv2.TypeSynced: m.Synced} {
		well, failed := 0, 0
		for _, r := range all {
			switch status := r.GetCondition(t).Status; {
			case status == corev1.ConditionTrue:
				well++
			case status == corev1.ConditionFalse && r.GetCondition(xpv2.TypeSynced).Reason != xpv2.ReasonReconcilePaused:
				failed++
			}
		}
		if isManaged {
			is.WithLabelValues(kind).Set(float64(well))
		}
		failing.WithLabelValues(kind, string(t)).Set(float64(failed))
	}
}

// DesiredStateChanged lets events pass that change what is desired of an object: its spec, labels or annotations,
// except the external name that we give it ourselves. An object that is older than it was may differ in all of that:
// the control plane was restored. It also lets updates pass by which an object that is being deleted loses a finalizer:
// the last other one gone, it is our turn.
func DesiredStateChanged() predicate.Predicate {
	desired := resource.DesiredStateChanged()
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			released := e.ObjectNew.GetDeletionTimestamp() != nil &&
				len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
			return released || WentBack(e.ObjectOld, e.ObjectNew) ||
				desired.Update(e) && !named(e.ObjectOld, e.ObjectNew)
		},
	}
}

// WentBack reports whether an object is older than it was, as after a restore of the control plane from a backup. Its
// generation tells nothing then: the same one was given to another spec.
func WentBack(before, after client.Object) bool {
	c, err := resourceversion.CompareResourceVersion(after.GetResourceVersion(), before.GetResourceVersion())
	return err == nil && c < 0
}

// named reports whether an object has got an external name, and nothing else that counts.
func named(before, after client.Object) bool {
	if before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetLabels(), after.GetLabels()) {
		return false
	}
	if _, ok := before.GetAnnotations()[meta.AnnotationKeyExternalName]; ok {
		return false
	}
	rest := maps.Clone(after.GetAnnotations())
	delete(rest, meta.AnnotationKeyExternalName)
	return maps.Equal(rest, before.GetAnnotations())
}
