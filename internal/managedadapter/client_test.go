package managedadapter

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A store is a control plane with a writer of status.
type store struct {
	client.Client

	status client.SubResourceWriter
}

func (s store) Status() client.SubResourceWriter { return s.status }

// A smallStatus takes the status of a Namespace if it has no conditions.
type smallStatus struct {
	client.SubResourceWriter

	writes int
}

func (s *smallStatus) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	s.writes++
	ns, ok := obj.(*corev1.Namespace)
	if !ok || len(ns.Status.Conditions) > 0 {
		return apierrors.NewRequestEntityTooLargeError("limit is 10")
	}
	return nil
}

// TestShrink shows that a status which is too large is written without what it can do without, at once, and that one
// which cannot shrink is an error.
func TestShrink(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		shrink func(client.Object) bool
		writes int
		ok     bool
	}{
		"Shrinks": {
			reason: "What has shrunk is written.",
			shrink: func(o client.Object) bool { o.(*corev1.Namespace).Status.Conditions = nil; return true },
			writes: 2,
			ok:     true,
		},
		"Cannot": {
			reason: "What cannot shrink is not tried again.",
			shrink: func(client.Object) bool { return false },
			writes: 1,
		},
		"Nobody": {reason: "Nor is what nobody can shrink.", shrink: nil, writes: 1, ok: false},
		"Still": {
			reason: "What is still too large is an error.",
			shrink: func(client.Object) bool { return true },
			writes: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &smallStatus{}
			c := Client{Client: store{status: s}, written: &sync.Map{}}
			p := &Reconciliation{Shrink: tc.shrink}
			ns := &corev1.Namespace{Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{{}}}}
			err := c.Status().Update(With(t.Context(), p), ns)
			if (err == nil) != tc.ok || p.Unsaved == tc.ok || s.writes != tc.writes {
				t.Errorf("%s\nwant written %t by %d requests, got %v, %t, %d", tc.reason, tc.ok, tc.writes, err,
					!p.Unsaved, s.writes)
			}
		})
	}
}

func TestIsTooLarge(t *testing.T) {
	for text, want := range map[string]bool{
		"etcdserver: request is too large": true,
		"rpc error: code = ResourceExhausted desc = trying to send message larger than max (2501043 vs. 2097152)": true,
		"the name is too large": false,
	} {
		if got := IsTooLarge(errors.New(text)); got != want {
			t.Errorf("%q: want %t, got %t", text, want, got)
		}
	}
	if !IsTooLarge(apierrors.NewRequestEntityTooLargeError("limit is 3145728")) {
		t.Error("what a server does not even read is too large")
	}
	if IsTooLarge(nil) {
		t.Error("no error is no answer")
	}
}

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
	obj.SetUID("here")
	obj.SetResourceVersion(c.version)
	return nil
}

// TestStaleCache shows that an object is not reconciled as it was before our last write, and soon as it is.
func TestStaleCache(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		wrote  string
		gone   types.UID
		ago    time.Duration
		cached string
		stale  bool
	}{
		"NeverWritten": {reason: "What we have not written is taken as it is.", cached: "5"},
		"Current":      {reason: "A cache that has seen our write serves.", wrote: "5", cached: "5"},
		"Newer":        {reason: "So does one that has seen more.", wrote: "5", cached: "6"},
		"Behind":       {reason: "One that has not does not.", wrote: "5", cached: "4", stale: true},
		"Gone":         {reason: "What is gone is not waited for.", wrote: "5", cached: ""},
		"Finished": {
			reason: "What has lost its last finalizer is gone, in whatever version it is shown.",
			wrote:  "5", gone: "here", cached: "5", stale: true,
		},
		"Namesake": {reason: "Another one of the name is not.", wrote: "5", gone: "before", cached: "5"},
		"Restored": {
			reason: "A control plane that was restored from a backup never shows our write.",
			wrote:  "5", cached: "4", ago: staleMost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := reconcile.Request{NamespacedName: client.ObjectKey{Name: "x"}}
			c := Client{Client: &oneConfigMap{version: tc.cached}, written: &sync.Map{}}
			if tc.wrote != "" {
				c.written.Store(req.NamespacedName, write{version: tc.wrote, gone: tc.gone, at: time.Now().Add(-tc.ago)})
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
			if err != nil || (res.RequeueAfter == staleMost) != tc.stale || tc.stale && reads > 0 {
				t.Errorf("%s Got %v, %v, and %d reads", tc.reason, res, err, reads)
			}
		})
	}
}

// TestRestoredControlPlane shows that what we have written counts no more when an object is older than it was.
func TestRestoredControlPlane(t *testing.T) {
	m := Manager{client: Client{Client: &oneConfigMap{version: "4"}, written: &sync.Map{}}}
	key := client.ObjectKey{Name: "x"}
	m.client.written.Store(key, write{version: "5", at: time.Now()})
	for _, tc := range []struct {
		version string // of another object, which was 9
		behind  bool
	}{{version: "10", behind: true}, {version: "8"}} {
		before, after, is := metadata(nil), metadata(nil), &corev1.ConfigMap{}
		before.SetResourceVersion("9")
		after.SetResourceVersion(tc.version)
		m.Changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
		if err := m.client.Client.Get(t.Context(), key, is); err != nil {
			t.Fatal(err)
		}
		if got := m.client.isBehind(is); got != tc.behind {
			t.Errorf("after version %s of another: want behind %t, got %t", tc.version, tc.behind, got)
		}
	}
}

func TestDesiredStateChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		before, after []string // finalizers
		version       string   // after 9
		deleted       bool
		want          bool
	}{
		"Released": {
			reason: "A deleted object that loses a finalizer may go on.",
			before: []string{"a", "b"}, after: []string{"a"}, version: "10", deleted: true, want: true,
		},
		"Unchanged": {
			reason: "Other changes of it do not matter.",
			before: []string{"a"}, after: []string{"a"}, version: "10", deleted: true,
		},
		"NotDeleted": {
			reason: "Nor do finalizers of an object that stays.",
			before: []string{"a", "b"}, after: []string{"a"}, version: "10",
		},
		"WentBack": {reason: "What is older than it was has changed, whatever its generation is.", version: "8", want: true},
		"Resync":   {reason: "What is as old has not.", version: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := metadata(nil), metadata(nil)
			before.SetFinalizers(tc.before)
			before.SetResourceVersion("9")
			after.SetFinalizers(tc.after)
			after.SetResourceVersion(tc.version)
			if tc.deleted {
				after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			if got := DesiredStateChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
