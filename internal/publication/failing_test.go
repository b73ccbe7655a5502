package publication

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFailingList shows that objects that are known are synced while kcp cannot answer the list of all workspaces, as
// one of them has an object that nests too deeply, that nothing is said of others, and that it is told how to find it.
func TestFailingList(t *testing.T) {
	var fails atomic.Bool
	s := &server{objects: []any{webIn("c", "1")}, events: make(chan any)}
	s.answers = map[string]http.HandlerFunc{
		clusters.AllClusters + "/apis/ws.example.com/v1/things": func(w http.ResponseWriter, r *http.Request) {
			if fails.Load() {
				refuse(apierrors.NewInternalError(errBoom))(w, r)
				return
			}
			answer(http.StatusOK, list(s.objects))(w, r)
		},
	}
	p, _ := newThings(t, s, "c")
	open(t, p)
	ready := func() error { return p.worker.streams.allEndpoints()[0].objects.Ready() }
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	s.events <- "none" // It cannot be read, so that all is listed again.
	kube.Eventually(t, "the stream to fail", func() (bool, string) {
		err := ready()
		return informer.IsFailing(err), fmt.Sprint(err)
	})
	if source, err := p.worker.newPass(t.Context(), web("c")).load(); source == nil || err != nil {
		t.Errorf("want what is known, got %v, %v", source, err)
	}
	if _, err := p.worker.newPass(t.Context(), in("c", "other")).load(); !informer.IsFailing(err) {
		t.Errorf("want nothing known of others, got %v", err)
	}
	if err := p.denial(); err == nil || !strings.Contains(err.Error(), "/clusters/WORKSPACE get things.ws.example.com") {
		t.Errorf("want it told how the object is found, got %v", err)
	}
}
