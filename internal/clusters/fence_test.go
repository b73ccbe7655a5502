package clusters

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/fence"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// connected connects to a server as two users, one by another URL of its own, and returns the control plane and both.
func connected(t *testing.T, s *httptest.Server, f *fence.Fence) (local, first, second *Cluster) {
	t.Helper()
	cfg := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: s.TLS != nil}}
	r, err := NewRegistry(Options{Injected: cfg, Fence: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	clusters := []*Cluster{r.Local()}
	<-r.Local().breaker.startProbing() // One connection after the other: what dials at the same time does not share.
	for i, url := range []string{"", s.URL + "/services/x" + AllClusters} {
		name := strconv.Itoa(i)
		o := informer.Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: name}}
		as := injectedAs(name)
		as.Endpoint = url
		c, err := r.Connect(t.Context(), o, as)
		if c == nil {
			t.Fatal(err)
		}
		<-c.breaker.startProbing()
		clusters = append(clusters, c)
	}
	return clusters[0], clusters[1], clusters[2]
}

// TestFence shows that all connections are behind the Fence: to the control plane, to a target, to a virtual workspace
// of kcp and to a logical cluster in it.
func TestFence(t *testing.T) {
	var writes atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	local, first, second := connected(t, s, fence.New(nil))
	logical, err := second.In("x")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]dynamic.Interface{
		"ControlPlane": local.Dynamic(), "Target": first.Dynamic(), "VirtualWorkspace": second.Dynamic(),
		"LogicalCluster": logical,
	} {
		t.Run(name, func(t *testing.T) {
			resource := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("a")
			err := resource.Delete(t.Context(), "a", metav1.DeleteOptions{})
			if err == nil || !strings.Contains(err.Error(), fence.ErrClosed.Error()) {
				t.Errorf("error of a write by a replica that does not lead: want %v, got %v", fence.ErrClosed, err)
			}
		})
	}
	if n := writes.Load(); n > 0 {
		t.Errorf("writes that arrived: want none, got %d", n)
	}
}
