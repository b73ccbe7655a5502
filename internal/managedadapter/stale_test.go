package managedadapter

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A oneConfigMap is a cache that holds one ConfigMap in a version. An empty version is none.
type oneConfigMap struct {
	client.Client

	version string
}

func (c *oneConfigMap) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.version == "" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.SetName(key.Name)
	obj.SetResourceVersion(c.version)
	return nil
}

// TestStaleCache shows that an object is not reconciled as it was before our last write, and soon as it is.
func TestStaleCache(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		wrote  string
		ago    time.Duration
		cached string
		stale  bool
	}{
		"NeverWritten": {reason: "What we have not written is taken as it is.", cached: "5"},
		"Current":      {reason: "A cache that has seen our write serves.", wrote: "5", cached: "5"},
		"Newer":        {reason: "So does one that has seen more.", wrote: "5", cached: "6"},
		"Behind":       {reason: "One that has not does not.", wrote: "5", cached: "4", stale: true},
		"Gone":         {reason: "What is gone is not waited for.", wrote: "5", cached: ""},
		"Restored": {
			reason: "A control plane that was restored from a backup never shows our write.",
			wrote:  "5", cached: "4", ago: staleMost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := reconcile.Request{NamespacedName: client.ObjectKey{Name: "x"}}
			c := Client{Client: &oneConfigMap{version: tc.cached}, written: &sync.Map{}}
			if tc.wrote != "" {
				c.written.Store(req.NamespacedName, write{version: tc.wrote, at: time.Now().Add(-tc.ago)})
			}
			reads := 0
			r := Reconciler(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				err := c.Get(ctx, req.NamespacedName, &corev1.ConfigMap{})
				if err == nil {
					reads++
				}
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}))
			res, err := r.Reconcile(t.Context(), req)
			if err != nil || (res.RequeueAfter == retryStale) != tc.stale || tc.stale && reads > 0 {
				t.Errorf("%s Got %v, %v, and %d reads", tc.reason, res, err, reads)
			}
		})
	}
}
