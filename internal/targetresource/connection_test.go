package targetresource

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
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
	opts := Sharing(Options{Options: controller.Options{MaxConcurrentReconciles: 10}}, cache,
		func() *v1alpha2.Object { return &v1alpha2.Object{} },
		func(*v1alpha2.Object) string { return "config" })
	if opts.MaxConcurrentReconciles != 30 {
		t.Fatalf("want a target to have a third of the workers, got %d workers", opts.MaxConcurrentReconciles)
	}
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

// TestConnectOfOtherSlot shows that nobody connects through a ProviderConfig of another replica's slot who does not
// have to.
func TestConnectOfOtherSlot(t *testing.T) {
	errRead := errors.New("read")
	for name, tc := range map[string]struct {
		reason string
		slots  *slot.Slots
		visits bool
		want   func(error) bool
	}{
		"OneSlot": {
			reason: "Where replicas do not share the work all ProviderConfigs are this replica's.",
			want:   func(err error) bool { return errors.Is(err, errRead) },
		},
		"OtherSlot": {reason: "Another replica may be writing through it.", slots: slot.New(2), want: apierrors.IsConflict},
		"Visits": {
			reason: "An Object that moves to it has to look.", slots: slot.New(2), visits: true,
			want: func(err error) bool { return errors.Is(err, errRead) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{Host: "localhost"}, Slots: tc.slots})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			_, err = Connect(t.Context(), r, informer.Owner{Controller: "test"}, Config{
				Key: "key", Visits: tc.visits,
				Read: func(context.Context) (commonv1.Connection, error) { return commonv1.Connection{}, errRead },
			})
			if !tc.want(err) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
		})
	}
}
