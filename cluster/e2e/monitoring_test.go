package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// TestMetricsExist shows that the provider serves its probes, and each metric that the dashboard, the alerts and the
// guide name.
func TestMetricsExist(t *testing.T) {
	c, tc := clients(t)
	p := start(t)
	at := newBed(t, c)
	o := build.Cluster().Object("", "measured", at.config, build.ConfigMap(at.namespace, "measured", "color", "blue"))
	kube.Create(t, c, o)
	awaitReady(t, c, o)
	// A change of somebody else, and an end: for the histograms of drift and of deletion.
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(at.namespace, "measured")}
	kube.Patch(t, tc, cm, `{"data":{"color":"red"}}`)
	kube.Await(t, tc, cm, "the change to be reverted", func() (bool, string) {
		return cm.Data["color"] == "blue", "color: " + cm.Data["color"]
	})
	kube.Delete(t, c, o)
	kube.AwaitGone(t, c, o)
	wanted, err := provider.NamedMetrics(filepath.Join("..", ".."), "crossplane_managed_resource", "provider_kcp",
		"controller_runtime", "workqueue", "rest_client", "process")
	if err != nil {
		t.Fatal(err)
	}
	// Those have a slot that share the work.
	wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == "provider_kcp_shard" })
	program.AwaitReady(t, p)
	res, err := http.Get(p.Healthz()) //nolint:noctx // It is on this machine.
	if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s: want a good state, got %v %v", p.Healthz(), res, err)
	}
	kube.Eventually(t, "all metrics", func() (bool, string) {
		missing, err := p.MissingMetrics(t.Context(), wanted)
		return err == nil && len(missing) == 0, fmt.Sprint(missing, err)
	})
	kube.Eventually(t, "each kind with Synced to be counted", func() (bool, string) {
		series, err := p.Series(t.Context())
		kinds := 0
		for s := range series {
			if strings.HasPrefix(s, `provider_kcp_failing_resources{condition="Synced"`) {
				kinds++
			}
		}
		return err == nil && kinds == 7, fmt.Sprint(kinds, err)
	})
}
