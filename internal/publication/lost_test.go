package publication

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLost takes courses that the model takes seldom, and that it checks.
func TestLost(t *testing.T) {
	type course = func(m *leaving, o *tenant, u *unstructured.Unstructured)
	comes := func(m *leaving, o *tenant, _ *unstructured.Unstructured) { m.change(o, nil, 10, false) }
	goes := func(m *leaving, o *tenant, _ *unstructured.Unstructured) { m.put(o, nil, false) }
	denies := func(m *leaving, o *tenant, _ *unstructured.Unstructured) {
		o.shard.denied, o.shard.since = !o.shard.denied, time.Now()
		o.shard.cut(o.shard.version)
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []course
		lasts  []time.Duration
		marked bool
	}{
		"Undone": {
			reason: "One that is shown alive while its workspace is unbound was not seen in deletion.", marked: true,
			steps: []course{comes, func(m *leaving, o *tenant, u *unstructured.Unstructured) {
				u.SetFinalizers([]string{othersFinalizer})
				u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
				m.put(o, u, false)
			}, func(m *leaving, o *tenant, u *unstructured.Unstructured) {
				o.shard.unlisted = true
				u.SetDeletionTimestamp(nil)
				m.put(o, u, true)
			}, func(_ *leaving, o *tenant, _ *unstructured.Unstructured) { o.shard.unlisted, o.unbound = false, true }},
			lasts: []time.Duration{time.Minute, time.Minute, time.Minute, time.Minute},
		},
		"Denied": {
			reason: "What was unseen before nothing was known is not unseen for long.",
			steps:  []course{comes, goes, denies, denies},
			lasts:  []time.Duration{time.Minute, unseenFor / 2, 10 * time.Minute, unseenFor - time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newLeaving(t, 1)
				o := m.tenants[0]
				for i, step := range tc.steps {
					m.Lock()
					step(m, o, o.shard.all[o.object].DeepCopy())
					m.settle(tc.lasts[i])
				}
				m.Lock()
				defer m.Unlock()
				if m.service.all[o.copy] == nil || m.isMarked(o) != tc.marked {
					t.Errorf("%s got copy %v", tc.reason, m.service.all[o.copy])
				}
			})
		})
	}
}

// TestFailingList shows that objects that are known are synced while kcp cannot answer the list of all workspaces, as
// one of them has an object that nests too deeply, that nothing is said of others, and that the resource is named.
func TestFailingList(t *testing.T) {
	var fails atomic.Bool
	s := &server{objects: []any{webIn("c", "1")}, events: make(chan any)}
	s.answers = map[string]http.HandlerFunc{
		clusters.AllClusters + "/apis/ws.example.com/v1/things": func(w http.ResponseWriter, r *http.Request) {
			if fails.Load() {
				refuse(apierrors.NewInternalError(errBoom))(w, r)
				return
			}
			answer(http.StatusOK, list(s.objects))(w, r)
		},
	}
	p, _ := newThings(t, s, "c")
	open(t, p)
	ready := func() error { return p.worker.streams.allEndpoints()[0].objects.Ready() }
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	s.events <- "none" // It cannot be read, so that all is listed again.
	kube.Eventually(t, "the stream to fail", func() (bool, string) {
		err := ready()
		return informer.IsFailing(err), fmt.Sprint(err)
	})
	if source, err := p.worker.newPass(t.Context(), web("c")).load(); source == nil || err != nil {
		t.Errorf("want what is known, got %v, %v", source, err)
	}
	if _, err := p.worker.newPass(t.Context(), in("c", "other")).load(); !informer.IsFailing(err) {
		t.Errorf("want nothing known of others, got %v", err)
	}
	if err := p.denial(); err == nil || !strings.Contains(err.Error(), "ws.example.com/v1, Resource=things") {
		t.Errorf("want the resource named, got %v", err)
	}
}
