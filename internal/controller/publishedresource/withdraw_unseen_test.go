package publishedresource_test

import (
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestWithdrawWithoutEndpointSlice shows that an API is not withdrawn because there is no endpoint slice, while
// consumers have objects: those could not be reached any more.
func TestWithdrawWithoutEndpointSlice(t *testing.T) {
	t.Parallel()
	const missing = "missing.example.com"
	s := newShop(t, exportName)
	s.connect(t, s.agent(t, missing))
	o := s.publishHats(t)
	update(t, s.c, o, func() { o.Spec.DeletionPolicy = xpv2.DeletionDelete })
	consumer := s.binder(t)
	createServed(t, consumer, s.object("Hat", "bowler"))
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))

	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: missing} })
	s.awaitEndpoints(t, o)
	kube.Delete(t, s.c, o)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, xpv2.ReasonReconcileError), "does not exist")
	if schemaOf(s.export(t), "hats") == "" {
		t.Error("the API must not be withdrawn while consumers have objects")
	}
	kube.Delete(t, kcp.Client(t, consumer), s.object("Hat", "bowler"))
	update(t, s.c, o, func() { o.Spec.APIExport = nil })
	awaitGone(t, s.c, o)
	if got := schemaOf(s.export(t), "hats"); got != "" {
		t.Errorf("want the API withdrawn, it is offered by %s", got)
	}
}

// TestWithdrawBeforeWatch shows that an API is not withdrawn while a consumer has an object that no watch shows yet.
func TestWithdrawBeforeWatch(t *testing.T) {
	t.Parallel()
	s, late := openShop(t), &lateWatches{}
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, late.of(t, s.agent(t), "/hats")))
	o := s.publishHats(t)
	update(t, s.c, o, func() { o.Spec.DeletionPolicy = xpv2.DeletionDelete })
	consumer := s.binder(t)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	kube.Eventually(t, "watch of hats", func() (bool, string) { return late.watched(), "nobody watches" })

	late.hold()
	t.Cleanup(late.release)
	createServed(t, consumer, s.object("Hat", "bowler"))
	kube.Delete(t, s.c, o)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft))
	if schemaOf(s.export(t), "hats") == "" {
		t.Error("the API must not be withdrawn while consumers have objects")
	}
	late.release()
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft), "1: 1 in ")
	kube.Delete(t, kcp.Client(t, consumer), s.object("Hat", "bowler"))
	awaitGone(t, s.c, o)
}

// lateWatches are the watches of a server, whose events can be held back.
type lateWatches struct {
	streams atomic.Int32 // that have begun
	held    sync.RWMutex // locked as long as events are held back
	release func()
}

// of returns a front of kcp, which can hold back events of a resource.
func (l *lateWatches) of(t *testing.T, cfg *rest.Config, resource string) *rest.Config {
	t.Helper()
	return kcp.Front(t, cfg, func(server *httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "true" && strings.HasSuffix(r.URL.Path, resource) {
				l.streams.Add(1)
				w = lateWriter{w, l}
			}
			server.ServeHTTP(w, r)
		})
	})
}

func (l *lateWatches) watched() bool { return l.streams.Load() > 0 }

// hold holds events back until release.
func (l *lateWatches) hold() {
	l.held.Lock()
	l.release = sync.OnceFunc(l.held.Unlock)
}

// A lateWriter writes the events of one watch.
type lateWriter struct {
	http.ResponseWriter

	watches *lateWatches
}

func (w lateWriter) Write(b []byte) (int, error) {
	w.watches.held.RLock()
	defer w.watches.held.RUnlock()
	return w.ResponseWriter.Write(b)
}

// Unwrap lets what is written be flushed.
func (w lateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
