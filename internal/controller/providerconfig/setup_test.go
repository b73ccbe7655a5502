package providerconfig

import (
	"strconv"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// TestNamespacesTakeTurns shows that a new ProviderConfig does not wait for those of another namespace, however many
// wait for workers and have them.
func TestNamespacesTakeTurns(t *testing.T) {
	const workers = 9
	o := targetresource.Options{Options: controller.Options{MaxConcurrentReconciles: workers}}
	q := inTurns(o).NewQueue("turns-test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	request := func(namespace, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	for i := range 2000 {
		q.Add(request("many", strconv.Itoa(i)))
	}
	for range workers / fairqueue.Shares {
		_, _ = q.Get() // Nothing comes of it.
	}
	for _, want := range []reconcile.Request{request("one", "new"), request("", "operator"), request("", "second")} {
		q.Add(want)
		if got, _ := q.Get(); got != want {
			t.Errorf("next ProviderConfig: want %s, got %s", want, got)
		}
	}
}

func TestChanged(t *testing.T) {
	registry, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ProviderConfig)
		want   bool
	}{
		"Users": {
			reason: "While Objects are made their number is written again and again, and each time all were counted.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetUsers(2) },
		},
		"Spec": {
			reason: "It may lead elsewhere.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetGeneration(2) },
			want:   true,
		},
		"Restored": {
			reason: "The control plane has gone back to an earlier state.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetResourceVersion("1") },
			want:   true,
		},
		"Released": {
			reason: "It is deleted, and another one's finalizer has gone: it is our turn.",
			change: func(pc *v1alpha1.ProviderConfig) {
				pc.SetDeletionTimestamp(&metav1.Time{})
				pc.SetFinalizers(nil)
			},
			want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			was := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{
				Name: "target", Generation: 1, ResourceVersion: "10", Finalizers: []string{"example.org/other"},
			}}
			is := was.DeepCopy()
			is.SetResourceVersion("11")
			tc.change(is)
			if got := changed(registry).Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != tc.want {
				t.Errorf("%s\nchanged: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
