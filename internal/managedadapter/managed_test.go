package managedadapter

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus/testutil"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// TestFailingAreCounted shows which resources count as failing: those with a condition that is False, unless they are
// paused, and none that has not been looked at.
func TestFailingAreCounted(t *testing.T) {
	failed := xpv2.ReconcileError(errors.New("no"))
	m, kind := statemetrics.NewMRStateMetrics(), "kubernetes.m.crossplane.io/v1alpha1, Kind=Object"
	var all []resource.Managed
	for _, conditions := range [][]xpv2.Condition{
		nil,
		{xpv2.ReconcileSuccess(), xpv2.Available()},
		{xpv2.ReconcileSuccess(), xpv2.Unavailable()},
		{failed, xpv2.Available()},
		{failed, xpv2.Unavailable()},
		{failed},
		{xpv2.ReconcilePaused(), xpv2.Unavailable()},
		{xpv2.ReconcilePaused()},
	} {
		o := &mobjectv1alpha1.Object{}
		o.SetConditions(conditions...)
		all = append(all, o)
	}
	count := func() map[string]float64 {
		tally(m, kind, all)
		return map[string]float64{
			"exists": testutil.ToFloat64(m.Exists), "ready": testutil.ToFloat64(m.Ready), "synced": testutil.ToFloat64(m.Synced),
			"not synced": testutil.ToFloat64(failing.WithLabelValues(kind, "Synced")),
			"not ready":  testutil.ToFloat64(failing.WithLabelValues(kind, "Ready")),
		}
	}
	want := map[string]float64{"exists": 8, "ready": 2, "synced": 2, "not synced": 3, "not ready": 2}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	all = nil
	want = map[string]float64{"exists": 0, "ready": 0, "synced": 0, "not synced": 0, "not ready": 0}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("when all are gone: -want, +got:\n%s", diff)
	}
}
