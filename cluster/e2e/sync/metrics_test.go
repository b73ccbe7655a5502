package sync_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestMetricsExist shows that the provider serves each metric of objects of consumers that the dashboard, the alerts
// and the guide name.
func TestMetricsExist(t *testing.T) {
	s := open(t, 1)
	in := s.consumers[0]
	s.create(t, in, "hat", 1)
	s.awaitCopies(t, in, 1)
	foreign := s.copies(t, in)[0].DeepCopy()
	kube.Remove(t, in, s.hat("hat-0"))
	s.awaitCopies(t, in, 0)
	foreign.SetResourceVersion("")
	foreign.SetUID("")
	foreign.SetLabels(map[string]string{objectsync.LabelCluster: "elsewhere"})
	foreign.SetAnnotations(nil)
	if err := s.c.Create(t.Context(), foreign); err != nil { // It is another tenant's: to sync the object fails.
		t.Fatal(err)
	}
	s.create(t, in, "hat", 1)
	wanted, err := provider.NamedMetrics(filepath.Join("..", "..", ".."), "publishedresource")
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "all metrics", func() (bool, string) {
		missing, err := s.provider.MissingMetrics(t.Context(), wanted)
		return err == nil && len(missing) == 0, fmt.Sprint(missing, err)
	})
}
