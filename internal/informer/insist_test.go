package informer

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLookInsistsOnce shows that a look at a stream of names that the server denies has it tried again once, and no
// more: whoever looks does not tell that the server is back, as a kick does.
func TestLookInsistsOnce(t *testing.T) {
	const soon, window = 20 * time.Second, 4 * retryFailed
	ns := server.Namespace(t)
	cfg := server.User(t, ns)
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m, err := metadata.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, Options{Metadata: m, Wake: func(Owner) {}})
	defer s.Close()
	o := Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}}
	i := Interest{
		Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		NamespacedName: types.NamespacedName{Namespace: ns},
		Stream:         StreamNames, Selector: "app=paint",
	}
	audit := server.Audit(t)
	mark := audit.Mark()
	asked := func() int { return len(append(audit.Since(mark), audit.Watches(mark)...).By(ns)) }
	s.Track(o, "test", i)
	kube.Eventually(t, "refusal", func() (bool, string) { return s.Denied(i), "none" })
	once := asked()
	kube.Eventually(t, "another attempt", func() (bool, string) {
		if asked() > once {
			return true, ""
		}
		_, err := s.Names(t.Context(), o, i)
		return false, err.Error()
	})
	kube.Throughout(t, window, "one attempt", func() (bool, string) {
		since := append(audit.Since(mark), audit.Watches(mark)...).By(ns)
		return len(since) <= 2*once, since.String()
	})
}
