package deletedearly

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestOwns shows that an object of another provider is not finished with, whatever finalizers it has.
func TestOwns(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		owns   func(client.Object) bool
		want   int
	}{
		"All":    {reason: "Without a rule all are the controller's.", want: 1},
		"Own":    {reason: "The controller owns it.", owns: func(client.Object) bool { return true }, want: 1},
		"Others": {reason: "Another provider owns it.", owns: func(client.Object) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			m := Manager{
				options: Options{Finalizer: ours, Log: logging.NewNopLogger(), Owns: tc.owns},
				client:  deletedClient{objects: newObjects(ours)},
			}
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			m.Handler().Delete(t.Context(), ctrlevent.DeleteEvent{Object: configMap("1", "last", ours)}, q)
			if got := q.Len(); got != tc.want {
				t.Errorf("%s\nwant %d reconciles, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
