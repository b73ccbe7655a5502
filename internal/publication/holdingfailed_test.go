package publication

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFailingObjectHoldsLittle shows that of an object that fails again and again, and names another related object
// each time, not all is kept that it has ever named: its consumer could use up the memory of all.
func TestFailingObjectHoldsLittle(t *testing.T) {
	const changes, few = 20, 4
	copied := copyOfWebIn("c").(map[string]any)
	copied["spec"] = map[string]any{"secretName": "s"}
	s := &server{events: make(chan any), copies: []any{copied}}
	s.refuses.Store(true)
	p, _ := newThings(t, s, "c")
	run(t, p)
	for i := range changes {
		name := fmt.Sprint("s", i)
		web := webIn("c", strconv.Itoa(2+i)).(map[string]any)
		web["metadata"].(map[string]any)["finalizers"] = []any{objectsync.Finalizer}
		web["spec"] = map[string]any{"secretName": name}
		s.events <- web
		kube.Eventually(t, "a look at what it names by now", func() (bool, string) {
			now := sizes(p)
			return len(p.worker.needs.by(secret("c", "default", name))) == 1 && now["held"] > 0 &&
				now["failures"] == 1, fmt.Sprint(now)
		})
	}
	if now := sizes(p); now["held"] > few {
		t.Errorf("want at most %d places held, got %v", few, now)
	}
}
