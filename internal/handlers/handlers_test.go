package handlers

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A waitingQueue says after which time each request of a name is taken.
type waitingQueue struct {
	queue

	after map[string]time.Duration
}

func (q waitingQueue) AddAfter(r reconcile.Request, d time.Duration) { q.after[r.Name] = d }

// TestGathered shows that what a handler enqueues at once is taken later, sooner if something has changed or gone.
func TestGathered(t *testing.T) {
	const appears, goes = 3 * time.Second, time.Second
	h := Gathered(handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	}), appears, goes)
	object := func(name string) client.Object { return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	q := waitingQueue{after: map[string]time.Duration{}}
	h.Create(t.Context(), event.CreateEvent{Object: object("new")}, q)
	h.Update(t.Context(), event.UpdateEvent{ObjectOld: object("old"), ObjectNew: object("changed")}, q)
	h.Delete(t.Context(), event.DeleteEvent{Object: object("gone")}, q)
	want := map[string]time.Duration{"new": appears, "old": goes, "changed": goes, "gone": goes}
	if diff := cmp.Diff(want, q.after); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
