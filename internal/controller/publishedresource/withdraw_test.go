package publishedresource_test

import (
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOrphan shows that a deleted PublishedResource leaves everything in kcp as it is, unless something else is asked
// for, and that another agent publishes by the schema that is left without changing it, as the least rights do not
// allow that.
func TestOrphan(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publish(t, "hats")
	before := s.export(t)
	remove(t, s.c, o)
	if after := s.export(t); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("APIExport must stay as it is: %v became %v", before.Spec, after.Spec)
	}
	left := s.schemaOffered(t, o)
	o = s.offer(t, s.published("more", "Hat"), func(o *v1alpha1.PublishedResource) { o.Spec.AgentName = "another" })
	if diff := cmp.Diff(left, s.schemaOffered(t, o)); diff != "" {
		t.Errorf("want the schema used that is left: -want, +got:\n%s", diff)
	}
}

// TestWithdraw shows that a PublishedResource with deletionPolicy Delete waits until consumers have no objects left,
// says how many there are and where, and then takes from the APIExport what it has added and nobody else needs: of
// those that are withdrawn at a time the last one.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.edit(t, func(e *apisv1alpha2.APIExport) {
		e.Spec.PermissionClaims = []apisv1alpha2.PermissionClaim{{
			GroupResource: apisv1alpha2.GroupResource{Resource: "secrets"}, Verbs: []string{"get"},
		}}
	})
	hats, coats := s.publish(t, "hats", withdrawn), s.publish(t, "coats", withdrawn)
	shoes := s.publish(t, "shoes", withdrawn)
	update(t, s.c, hats, func() { hats.Spec.EnableWorkspacePaths = true })
	await(t, s.c, hats, is(v1alpha1.TypeExportUpdated, ""))
	consumer := s.consumer(t, exportName)
	await(t, s.c, hats, is(v1alpha1.TypeEndpointsReady, ""))
	kcp.CreateServed(t, consumer.cfg, s.object("Hat", "bowler"))
	kube.Create(t, consumer, s.object("Hat", "top"))

	kube.Delete(t, s.c, hats)
	awaitMessage(t, s.c, hats, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft), "2: 2 in "+consumer.path)
	if schemaOf(s.export(t), "hats") == "" {
		t.Fatal("the API must not be withdrawn while consumers have objects")
	}
	kube.Delete(t, consumer, s.object("Hat", "bowler"), s.object("Hat", "top"))
	awaitGone(t, s.c, hats)
	e := s.export(t)
	var claims []string
	for _, c := range e.Spec.PermissionClaims {
		claims = append(claims, c.Resource)
	}
	if schemaOf(e, "hats") != "" || schemaOf(e, "coats") == "" || strings.Join(claims, " ") != "events secrets" {
		t.Errorf("want hats withdrawn and coats left, with the claims of a stranger and of coats, "+
			"got resources %v and claims %v", e.Spec.Resources, claims)
	}
	kube.Delete(t, s.c, coats, shoes)
	awaitGone(t, s.c, coats)
	awaitGone(t, s.c, shoes)
	if e := s.export(t); len(e.Spec.Resources) != 0 || len(e.Spec.PermissionClaims) != 1 {
		t.Errorf("want nothing left but what a stranger has added, got %v", e.Spec)
	}
}

// TestWithdrawWithoutEndpointSlice shows that an API is not withdrawn because there is no endpoint slice, while
// consumers have objects: those could not be reached any more.
func TestWithdrawWithoutEndpointSlice(t *testing.T) {
	t.Parallel()
	const missing = "missing.example.com"
	s := newShop(t, exportName)
	s.connect(t, s.agent(t, missing))
	o := s.publish(t, "hats", withdrawn)
	consumer := s.consumer(t, exportName)
	kcp.CreateServed(t, consumer.cfg, s.object("Hat", "bowler"))
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))

	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: missing} })
	s.awaitEndpoints(t, o)
	kube.Delete(t, s.c, o)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, xpv2.ReasonReconcileError), "does not exist")
	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{EndpointSlice: missing} })
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonExportMissing), "Orphan does not wait for this")
	if schemaOf(s.export(t), "hats") == "" {
		t.Error("the API must not be withdrawn while consumers have objects")
	}
	kube.Delete(t, consumer, s.object("Hat", "bowler"))
	update(t, s.c, o, func() { o.Spec.APIExport = nil })
	awaitGone(t, s.c, o)
	if got := schemaOf(s.export(t), "hats"); got != "" {
		t.Errorf("want the API withdrawn, it is offered by %s", got)
	}
}

// TestWithdrawWithoutExport shows that a PublishedResource whose APIExport has gone goes, and says that objects of
// consumers keep our finalizer.
func TestWithdrawWithoutExport(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, withdrawn)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	s.copyOf(t, in)
	awaitCounts(t, s.c, o, 1, 0)
	kube.Delete(t, kcp.Client(t, s.admin), s.export(t))
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonExportMissing))
	remove(t, s.c, o)
	kube.AwaitEvent(t, s.c, "LeftFinalizers", o.GetName(), "1 workspaces have bound it")
}

// TestWithdrawBeforeWatch shows that an API is not withdrawn while a consumer has an object that no watch shows yet.
func TestWithdrawBeforeWatch(t *testing.T) {
	t.Parallel()
	s, late := openShop(t), &lateWatches{}
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, late.of(t, s.agent(t), "/hats")))
	o := s.publish(t, "hats", withdrawn)
	consumer := s.consumer(t, exportName)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	kube.Eventually(t, "watch of hats", func() (bool, string) { return late.watched(), "nobody watches" })

	late.hold()
	t.Cleanup(late.release)
	kcp.CreateServed(t, consumer.cfg, s.object("Hat", "bowler"))
	kube.Delete(t, s.c, o)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft))
	if schemaOf(s.export(t), "hats") == "" {
		t.Error("the API must not be withdrawn while consumers have objects")
	}
	late.release()
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft), "1: 1 in ")
	kube.Delete(t, consumer, s.object("Hat", "bowler"))
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
