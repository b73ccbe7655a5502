package providerconfig

import (
	"strconv"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
