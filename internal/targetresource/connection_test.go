package targetresource

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
)

// TestSharing shows which of a target's Objects wait for no others after a start: those that are new, changed or
// deleted since the last reconcile.
func TestSharing(t *testing.T) {
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	object := func(name string, generation int64, conditions ...xpv2.Condition) *v1alpha2.Object {
		o := &v1alpha2.Object{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation}}
		o.SetConditions(conditions...)
		return o
	}
	deleted := object("deleted", 1, xpv2.ReconcileSuccess().WithObservedGeneration(1))
	deleted.Finalizers, deleted.DeletionTimestamp = []string{"example.com/held"}, &metav1.Time{Time: metav1.Now().Time}
	cache := fake.NewClientBuilder().WithScheme(s).WithObjects(
		object("known", 1, xpv2.ReconcileSuccess().WithObservedGeneration(1)),
		object("fails", 1, xpv2.ReconcileError(errors.New("refused")).WithObservedGeneration(1)),
		object("new", 1),
		object("changed", 2, xpv2.ReconcileSuccess().WithObservedGeneration(1)),
		deleted,
	).Build()
	opts := Sharing(controller.Options{MaxConcurrentReconciles: 10}, cache,
		func() *v1alpha2.Object { return &v1alpha2.Object{} },
		func(*v1alpha2.Object) string { return "config" })
	q := opts.NewQueue("sharing-test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	for name := range strings.FieldsSeq("known fails new changed deleted") {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	var got []string
	for range 5 {
		r, _ := q.Get()
		got = append(got, r.Name)
	}
	if diff := cmp.Diff("new known changed fails deleted", strings.Join(got, " ")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
