package managedadapter

import (
	"context"
	"sync"
	"testing"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
			ok:     false,
		},
		"Nobody": {reason: "Nor is what nobody can shrink.", shrink: nil, writes: 1, ok: false},
		"Still": {
			reason: "What is still too large is an error.",
			shrink: func(client.Object) bool { return true },
			writes: 2,
			ok:     false,
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
	if IsTooLarge(nil) {
		t.Error("no error is no answer")
	}
}
