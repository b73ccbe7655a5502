package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	clusterlocal "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// agentUser is whom a publisher is in kcp.
const agentUser = "system:serviceaccount:default:agent"

// requeueAfter has PublishedResources reconciled once more, by a change that means nothing.
func requeueAfter(t *testing.T, c client.Client, all ...*v1alpha1.PublishedResource) {
	t.Helper()
	before := reconciles(t)
	kube.AtOnce(all, func(o *v1alpha1.PublishedResource) {
		kube.Patch(t, c, o, fmt.Sprintf(`{"metadata":{"labels":{"look":"%v"}}}`, before))
	})
	kube.Eventually(t, "another look", func() (bool, string) {
		n := reconciles(t) - before
		return n >= float64(len(all)), fmt.Sprint(n)
	})
}

// reconciles returns how often PublishedResources have been reconciled.
func reconciles(t *testing.T) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "controller_runtime_reconcile_total" && strings.Contains(m.String(), "publishedresource") {
				sum += valueOf(m)
			}
		}
	}
	return sum
}

// An account is what is asked of both servers because of objects of consumers.
type account struct {
	group       string
	below, kcp  kube.Audit
	local, here kube.Mark
}

func (s *shop) account(t *testing.T) *account {
	t.Helper()
	a := &account{group: s.group, below: local.Audit(t), kcp: kube.AuditOf(t, workspaces.AuditLog())}
	a.reset()
	return a
}

func (a *account) reset() { a.local, a.here = a.below.Mark(), a.kcp.Mark() }

// requests returns those since the last reset, but events, and what is written of the PublishedResource. In kcp an
// endpoint asks the workspace in the name of the provider for what the provider asks it. Those requests carry the
// identity of the API behind a colon.
func (a *account) requests() (below, inKCP kube.Requests) {
	below = slices.DeleteFunc(a.below.Since(a.local).By(user), func(e clusterlocal.AuditEvent) bool {
		return e.Resource == "events" || strings.HasPrefix(e.Resource, "publishedresources")
	})
	inKCP = slices.DeleteFunc(a.kcp.Since(a.here).By(agentUser), func(e clusterlocal.AuditEvent) bool {
		return e.Resource == "events" || strings.Contains(e.Resource, ":")
	})
	return below, inKCP
}

// awaitRest waits until nothing has been asked for a while.
func (a *account) awaitRest(t *testing.T, quiet time.Duration) {
	t.Helper()
	kube.Eventually(t, "rest", func() (bool, string) {
		a.reset()
		var below, inKCP kube.Requests
		for begin := time.Now(); time.Since(begin) < quiet; time.Sleep(quiet / 20) {
			if below, inKCP = a.requests(); len(below)+len(inKCP) > 0 {
				return false, below.String() + inKCP.String()
			}
		}
		return true, ""
	})
}

// TestSyncRequests shows what a new object costs: two writes in kcp and two on the service cluster, and no reads; that
// its change costs one write and one for what is remembered; and that objects at rest cost nothing, not even a look at
// them.
func TestSyncRequests(t *testing.T) {
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first")) // For which the namespace is made.
	s.copyOf(t, in)
	a := s.account(t)
	a.awaitRest(t, 3*time.Second)

	web := s.cert("web")
	kube.Create(t, in, web)
	patchStatus(t, s.c, s.copyNamed(t, in, "web"), "Issued")
	kube.Eventually(t, "the status", func() (bool, string) {
		err := in.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		return err == nil && web.Object["status"] != nil, fmt.Sprint(err)
	})
	kube.Throughout(t, time.Second, "the object exists", func() (bool, string) { return len(s.copies(t, in)) == 2, "" })
	below, inKCP := a.requests()
	if diff := cmp.Diff(map[string]int{"create certs." + s.group: 1, "create secrets": 1}, below.Count()); diff != "" {
		t.Errorf("requests to the service cluster for a new object: -want, +got:\n%s\n%s", diff, below)
	}
	if diff := cmp.Diff(map[string]int{"patch certs." + s.group: 1, "patch certs." + s.group + "/status": 1},
		inKCP.Count()); diff != "" {
		t.Errorf("requests to kcp for a new object: -want, +got:\n%s\n%s", diff, inKCP)
	}

	a.reset()
	kube.Patch(t, in, web, `{"spec":{"size":"XXL"}}`)
	kube.Eventually(t, "the update and what is remembered", func() (bool, string) {
		below, inKCP = a.requests()
		return len(below) >= 2, below.String()
	})
	if diff := cmp.Diff(map[string]int{"patch certs." + s.group: 1, "patch secrets": 1}, below.Count()); diff != "" ||
		len(inKCP) > 0 {
		t.Errorf("requests for a change: -want, +got:\n%s\n%s\nkcp:\n%s", diff, below, inKCP)
	}
	a.awaitRest(t, time.Second)
	syncs := func() float64 { return metricsOf(t, o.GetName())["publishedresource_sync_duration_seconds"] }
	before := syncs()
	if before == 0 {
		t.Error("want syncs counted, this test sees none")
	}
	kube.Holds(t, "nothing is asked, and no object looked at", func() (bool, string) {
		below, inKCP := a.requests()
		more := syncs() - before
		return len(below)+len(inKCP) == 0 && more == 0, fmt.Sprintf("%v syncs, %s%s", more, below, inKCP)
	}, func() { requeueAfter(t, s.c, o) })
}

// metricsOf returns the metrics of a PublishedResource by their names and what tells them apart; of histograms, the
// counts.
func metricsOf(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key, ours := []string{f.GetName()}, false
			for _, l := range m.GetLabel() {
				if l.GetName() == "publishedresource" {
					ours = l.GetValue() == name
					continue
				}
				key = append(key, l.GetValue())
			}
			if ours {
				out[strings.Join(key, " ")] = valueOf(m)
			}
		}
	}
	return out
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	}
	return float64(m.GetHistogram().GetSampleCount())
}
