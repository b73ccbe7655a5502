package informer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestStreamsTakeTurns shows that many streams whose server is back do not ask it all at once.
func TestStreamsTakeTurns(t *testing.T) {
	const streams, soon = 1000, time.Minute
	var asked atomic.Int64
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(refuses.Close)
	d, err := dynamic.NewForConfig(&rest.Config{Host: refuses.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, Options{Wake: func(Owner) {}})
	t.Cleanup(s.Close)
	var all []Interest
	for i := range streams {
		all = append(all, Interest{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Stream: StreamByName,
			NamespacedName: types.NamespacedName{Namespace: "a", Name: fmt.Sprint("c", i)},
		})
	}
	s.Track(Owner{Controller: "test"}, "test", all...)
	kube.Eventually(t, "all streams to be refused", func() (bool, string) {
		n := 0
		for _, i := range all {
			if s.Denied(i) {
				n++
			}
		}
		return n == streams, fmt.Sprintf("%d are", n)
	})
	before := asked.Load()
	s.Kick()
	time.Sleep(streams * restartPace / 5)
	fifth := asked.Load() - before
	kube.Eventually(t, "all streams to ask again", func() (bool, string) {
		n := asked.Load() - before
		return n >= streams, fmt.Sprintf("%d did", n)
	})
	if each := (asked.Load() - before) / streams; fifth > each*streams/2 {
		t.Errorf("within a fifth of the time: want about a fifth of %d streams to ask, got %d requests", streams, fifth)
	}
}
