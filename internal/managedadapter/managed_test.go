package managedadapter

import (
	"context"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// listing lists the same Objects each time.
type listing struct {
	client.Client

	items []mobjectv1alpha1.Object
}

func (l listing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*mobjectv1alpha1.ObjectList).Items = l.items
	return nil
}

func (listing) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return mobjectv1alpha1.GroupVersion.WithKind("ObjectList"), nil
}

// TestFailingAreCounted shows which resources count as failing: those with a condition that is False, unless they are
// paused, and none that has not been looked at.
func TestFailingAreCounted(t *testing.T) {
	failed := xpv2.ReconcileError(errors.New("no"))
	var l listing
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
		o := mobjectv1alpha1.Object{}
		o.SetConditions(conditions...)
		l.items = append(l.items, o)
	}
	count := func() map[string]float64 {
		if err := (sharingClient{Client: l}).List(t.Context(), &mobjectv1alpha1.ObjectList{}); err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, c := range []string{"Synced", "Ready"} {
			got[c] = testutil.ToFloat64(failing.WithLabelValues("kubernetes.m.crossplane.io/v1alpha1, Kind=Object", c))
		}
		return got
	}
	if diff := cmp.Diff(map[string]float64{"Synced": 3, "Ready": 2}, count()); diff != "" {
		t.Errorf("failing: -want, +got:\n%s", diff)
	}
	l.items = nil
	if diff := cmp.Diff(map[string]float64{"Synced": 0, "Ready": 0}, count()); diff != "" {
		t.Errorf("failing, when all are gone: -want, +got:\n%s", diff)
	}
}
