package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMemoryIsForWhatIsManaged(t *testing.T) {
	const unrelated, limit = 20_000, 20 << 20
	c, _ := clients(t)
	empty := peakWith100Objects(t, c)
	fill(t, unrelated)
	full := peakWith100Objects(t, c)
	for tries := 2; tries > 0 && full-empty >= limit; tries-- { // On a busy machine the garbage collector comes late.
		full = min(full, peakWith100Objects(t, c))
	}
	t.Logf("peak RSS: %d MB on an empty target, %d MB beside %d ConfigMaps", empty>>20, full>>20, unrelated)
	if full-empty >= limit {
		t.Errorf("growth of peak RSS by %d unrelated ConfigMaps: want less than %d MB, got %d MB", unrelated, limit>>20,
			(full-empty)>>20)
	}
}

// peakWith100Objects returns the most memory, in bytes, that a provider holds while it creates 100 Objects and until it
// has settled. The peak is stricter than what it holds afterwards, and does not depend on when the garbage collector
// last ran.
func peakWith100Objects(t *testing.T, c client.Client) int64 {
	t.Helper()
	p := start(t)
	newFleet(t, c, 100).settle(t, c)
	peak, err := p.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	wipe(t, c)
	return peak
}

// fill creates ConfigMaps of 1 KB on the target, all in one namespace.
func fill(t *testing.T, n int) {
	t.Helper()
	cfg := rest.CopyConfig(target.Config())
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	k, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ns, kilobyte := target.Namespace(t), strings.Repeat("x", 1<<10)
	err = each(n, func(i int) error {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unrelated-%d", i)},
			Data:       map[string]string{"value": kilobyte},
		}
		_, err := k.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
