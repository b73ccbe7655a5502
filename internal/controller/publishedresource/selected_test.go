package publishedresource

import (
	"context"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
)

// A shown client shows one object, or none if it is nil.
type shown struct {
	client.Client

	labels labels.Set
}

func (s shown) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if s.labels == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.SetLabels(s.labels)
	return nil
}

// TestSelected shows which PublishedResources are reconciled here, and which of these count.
func TestSelected(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		labels        labels.Set
		want, counted bool
	}{
		"Selected": {reason: "The selector selects it.", labels: labels.Set{"team": "a"}, want: true, counted: true},
		"Other":    {reason: "It is another provider's.", labels: labels.Set{"team": "b"}},
		"Gone":     {reason: "One that is gone is finished with.", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
			c := &connector{
				lasting: shown{labels: tc.labels}, selects: o.selects,
				reconciled: &reconciledNames{names: sets.New[string]()},
			}
			got := c.selected(t.Context(), types.NamespacedName{Name: "x"})
			if counted := c.reconciled.names.Has("x"); got != tc.want || counted != tc.counted {
				t.Errorf("%s\ngot %t, counted %t", tc.reason, got, counted)
			}
			c.reconciled.remove("x")
		})
	}
}

// A stage is a manager whose cache shows one object.
type stage struct {
	manager.Manager

	shown shown
}

func (s stage) GetClient() client.Client { return s.shown }

// TestSelectedPredecessor shows that a PublishedResource which was deleted early is finished with although another
// provider serves the one that has its name now. Else it would be withdrawn when that one comes back.
func TestSelectedPredecessor(t *testing.T) {
	o := Options{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
	m := deletedearly.NewManager(stage{shown: shown{labels: labels.Set{"team": "b"}}},
		deletedearly.Options{Finalizer: managed.FinalizerName, Log: logging.NewNopLogger(), Owns: o.selects})
	c := &connector{lasting: m.GetClient(), selects: o.selects, reconciled: &reconciledNames{names: sets.New[string]()}}
	name := types.NamespacedName{Name: "x"}
	if c.selected(t.Context(), name) {
		t.Error("want the successor to be left to the other provider")
	}
	predecessor := &v1alpha1.PublishedResource{}
	predecessor.SetName(name.Name)
	predecessor.SetLabels(labels.Set{"team": "a"})
	predecessor.SetFinalizers([]string{managed.FinalizerName})
	predecessor.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	m.Handler().Delete(t.Context(), event.DeleteEvent{Object: predecessor}, q)
	if !c.selected(t.Context(), name) {
		t.Error("want the predecessor to be finished with")
	}
	c.reconciled.remove(name.Name)
}
