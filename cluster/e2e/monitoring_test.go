package e2e_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// metric finds the names of metrics in whatever tells of them.
var metric = regexp.MustCompile(`\b(crossplane_managed_resource|controller_runtime|workqueue|rest_client|process)_[a-z_]+\b`)

// TestMetricsExist shows that the provider serves each metric that the dashboard, the alerts and the guide name.
func TestMetricsExist(t *testing.T) {
	c, tc := clients(t)
	p := start(t)
	at := newBed(t, c)
	o := build.Cluster().Object("", "measured", at.config, build.ConfigMap(at.namespace, "measured", "color", "blue"))
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, c, o)
	// A change of somebody else, and an end: for the histograms of drift and of deletion.
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(at.namespace, "measured")}
	if err := tc.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"color":"red"}}`))); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, soon, "the change to be reverted", func() (bool, string) {
		err := tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
		return err == nil && cm.Data["color"] == "blue", "color: " + cm.Data["color"]
	})
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, c, o)
	wanted := documented(t)
	kube.Eventually(t, soon, "all metrics", func() (bool, string) {
		served := scrape(t, p.Metrics())
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(wanted)), func(m string) bool {
			return served[m] || served[strings.TrimSuffix(m, "_bucket")]
		})
		return len(missing) == 0, strings.Join(missing, ", ")
	})
}

// documented returns the metrics that users are told of.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	top := filepath.Join("..", "..")
	all := map[string]bool{}
	for _, f := range []string{"examples/monitoring/dashboard.json", "examples/monitoring/alerts.yaml", "docs/monitoring.md"} {
		b, err := os.ReadFile(filepath.Join(top, f))
		if err != nil {
			t.Fatal(err)
		}
		found := metric.FindAllString(string(b), -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric", f)
		}
		for _, m := range found {
			all[m] = true
		}
	}
	return all
}

// scrape returns the names of the metrics that are served.
func scrape(t *testing.T, url string) map[string]bool {
	t.Helper()
	res, err := http.Get(url) //nolint:noctx // It is that of the provider under test.
	if err != nil {
		return nil // It is not served yet.
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[1] == "TYPE" {
			served[fields[2]] = true
		}
	}
	return served
}
