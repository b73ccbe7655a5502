package object

import (
	"context"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// TestWaitingCostsNoRetries shows that passes which only wait for something, such as a first list, leave the retries of
// their target to those that fail.
func TestWaitingCostsNoRetries(t *testing.T) {
	const passes = 1000
	for name, tc := range map[string]struct {
		reason  string
		err     error
		delayed bool
	}{
		"Waits": {
			reason: "A conflict means that something was not seen yet.",
			err:    apierrors.NewConflict(schema.GroupResource{}, "", errors.New("waiting")),
		},
		"Fails": {reason: "Retries of what fails are spread.", err: errors.New("boom"), delayed: true},
	} {
		t.Run(name, func(t *testing.T) {
			registry, err := target.NewRegistry(target.Options{Injected: &rest.Config{Host: "http://127.0.0.1:1"}})
			if err != nil {
				t.Fatal(err)
			}
			defer registry.Close()
			r := &reconciler[*mobjectv1alpha1.Object]{
				early: deletedearly.NewObjects[*mobjectv1alpha1.Object](""),
				managed: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					p := reconciliationOf(ctx)
					p.target = &targetresource.Resource{Cluster: registry.Local()}
					_ = p.fail(tc.err)
					return reconcile.Result{}, nil
				}),
			}
			for range passes {
				if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil {
					t.Fatal(err)
				}
			}
			if delay := registry.Local().RetryAfter(informer.Owner{}, nil, ""); (delay > 0) != tc.delayed {
				t.Errorf("%s After %d passes the next retry waits for %s", tc.reason, passes, delay)
			}
		})
	}
}
