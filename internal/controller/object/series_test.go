package object_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestMetricsNameNoObject shows that no metric has a series for each Object, its namespace or its resource: their
// number would grow with all that ever was.
func TestMetricsNameNoObject(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.scope.Object(w.namespace, w.target+"-series", w.config, build.ConfigMap(w.target, "series-of-settings"))
		createReady(t, w.c, o)
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		reconciles := 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if strings.Contains(l.GetValue(), w.target) || strings.Contains(l.GetValue(), "series-of-settings") {
						t.Errorf("%s has a series for an Object: %s=%s", f.GetName(), l.GetName(), l.GetValue())
					}
				}
			}
			if f.GetName() == "controller_runtime_reconcile_total" {
				reconciles = len(f.GetMetric())
			}
		}
		if reconciles == 0 {
			t.Error("no reconciles are counted")
		}
		kube.Remove(t, w.c, o)
	})
}
