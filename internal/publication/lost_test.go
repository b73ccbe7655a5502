package publication

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
