// Package crash_test shows that a provider which is killed at any moment of a publication, a change or a withdrawal
// leaves nothing that the next one does not bring to the same end.
package crash_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const exportName = "shop.example.com"

var (
	local      kube.Server
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &workspaces)) }

// A world is a PublishedResource and all around it.
type world struct {
	c     client.Client
	in    client.Client
	admin *rest.Config
	group string
	// namespace is where the credentials are.
	namespace string
	o         *v1alpha1.PublishedResource
	was       string // the schema that is published before the change
}

// newWorld makes a workspace, a CustomResourceDefinition and a PublishedResource that may create its APIExport.
func newWorld(t *testing.T) *world {
	t.Helper()
	s := &world{c: local.Client(t, apis.AddToScheme), namespace: local.Namespace(t)}
	s.group = s.namespace + ".example.com"
	spec := build.FromSecret(s.namespace, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName, Create: new(true)}}
	_, s.admin = workspaces.Workspace(t)
	s.in = kcp.Client(t, s.admin)
	s.o = &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: s.group}}
	s.o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: s.group}
	s.o.Spec.Resource = v1alpha1.SourceResource{APIGroup: s.group, Kind: "Hat"}
	s.o.Spec.DeletionPolicy = xpv2.DeletionDelete
	kube.Create(t, s.c, build.ClusterConfig(s.group, spec), build.Definition(s.group, "hats"), s.o)
	return s
}

// run runs a provider until it is killed or a condition holds, and returns what it has written.
func (s *world) run(t *testing.T, m moment, until check) []string {
	t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	w := &witness{kill: kill, moment: m}
	s.connect(t, w.gate(t, s.admin))
	ended := provider.StartUntil(t, ctx, w.gate(t, local.User(t, "provider", "system:masters")))
	kube.Eventually(t, "the end, or what is wanted", func() (bool, string) {
		if w.isDead() {
			return true, ""
		}
		return until(s, t.Context())
	})
	kill()
	ended()
	return w.seen()
}

// A check reports whether a world is as wanted.
type check func(s *world, ctx context.Context) (bool, string)

// connect has the ProviderConfig lead to kcp by a kubeconfig.
func (s *world) connect(t *testing.T, cfg *rest.Config) {
	t.Helper()
	secret := build.Credentials(s.namespace, "kcp", kube.Kubeconfig(t, cfg))
	if err := s.c.Create(t.Context(), secret); !apierrors.IsAlreadyExists(err) {
		return
	}
	kube.Update(t, s.c, secret)
}

// published reports whether the API is published, by another schema than before, which stays, and everything says so.
func (s *world) published(ctx context.Context) (bool, string) {
	e, schemas := &apisv1alpha2.APIExport{}, &apisv1alpha1.APIResourceSchemaList{}
	for _, err := range []error{
		s.c.Get(ctx, client.ObjectKeyFromObject(s.o), s.o),
		s.in.Get(ctx, types.NamespacedName{Name: exportName}, e), s.in.List(ctx, schemas),
	} {
		if err != nil {
			return false, err.Error()
		}
	}
	is, names := s.o.Status.ResourceSchemaName, []string{}
	for _, a := range schemas.Items {
		names = append(names, a.GetName())
	}
	want := slices.DeleteFunc([]string{s.was, is}, func(name string) bool { return name == "" })
	slices.Sort(names)
	slices.Sort(want)
	diff := cmp.Diff([]apisv1alpha2.ResourceSchema{kcp.Offer(s.group, "hats", is)}, e.Spec.Resources) +
		cmp.Diff(kcp.Claims("events"), e.Spec.PermissionClaims) + cmp.Diff(want, names)
	ready := s.o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue &&
		s.o.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue
	return diff == "" && ready && is != s.was, fmt.Sprintf("%s, status %+v", diff, s.o.Status)
}

// withdrawn reports whether the API is withdrawn and the PublishedResource gone.
func (s *world) withdrawn(ctx context.Context) (bool, string) {
	if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.o), s.o); !apierrors.IsNotFound(err) {
		return false, "it is there"
	}
	e := &apisv1alpha2.APIExport{}
	if err := s.in.Get(ctx, types.NamespacedName{Name: exportName}, e); err != nil {
		return false, err.Error()
	}
	return len(e.Spec.Resources) == 0 && len(e.Spec.PermissionClaims) == 0, fmt.Sprintf("%+v", e.Spec)
}

// TestKilled kills a provider before and after each write of a publication, a change of the source, and a withdrawal.
func TestKilled(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	never := moment{write: -1}
	for name, act := range map[string]struct {
		prepare func(t *testing.T, s *world)
		done    check
	}{
		"Publish": {prepare: func(*testing.T, *world) {}, done: (*world).published},
		"Change": {prepare: func(t *testing.T, s *world) {
			t.Helper()
			s.run(t, never, (*world).published)
			s.was = s.o.Status.ResourceSchemaName
			d := build.Definition(s.group, "hats")
			kube.Get(t, s.c, client.ObjectKeyFromObject(d), d)
			d.Spec.Names.ShortNames = []string{"ht"}
			kube.Update(t, s.c, d)
		}, done: (*world).published},
		"Withdraw": {prepare: func(t *testing.T, s *world) {
			t.Helper()
			s.run(t, never, (*world).published)
			kube.Delete(t, s.c, s.o)
		}, done: (*world).withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWorld(t)
			act.prepare(t, s)
			writes := s.run(t, never, act.done)
			t.Logf("writes:\n%s", strings.Join(writes, "\n"))
			if len(writes) < 2 {
				t.Fatalf("want at least two writes between which to kill, got %v", writes)
			}
			for n := range writes {
				for _, m := range []moment{{write: n}, {write: n, after: true}} {
					s := newWorld(t)
					act.prepare(t, s)
					s.run(t, m, act.done)
					s.run(t, never, act.done)
					if t.Failed() {
						t.Fatalf("killed at write %d (after %t), which was like %s", n, m.after, writes[n])
					}
				}
			}
		})
	}
}

// A moment is when a provider is killed: before or after one of its writes is done.
type moment struct {
	write int  // counted from zero; negative for never
	after bool // the write is done, and its answer is lost
}

// A witness stands between a provider and its servers. It counts the provider's writes and kills it at a moment:
// nothing it sends after that arrives.
type witness struct {
	kill   context.CancelFunc
	moment moment

	mu     sync.Mutex
	writes []string
	dead   bool
}

// gate returns a configuration that reaches a server past the witness. So do the addresses of endpoints that the server
// names.
func (w *witness) gate(t *testing.T, cfg *rest.Config) *rest.Config {
	t.Helper()
	return kcp.Front(t, cfg, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
		modify := proxy.ModifyResponse
		proxy.ModifyResponse = func(r *http.Response) error {
			if w.isDead() {
				return http.ErrAbortHandler
			}
			return modify(r)
		}
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.pass(proxy, rw, r) })
	})
}

// pass passes a request on while the provider lives, and the answer to a write if it lives still.
func (w *witness) pass(server http.Handler, rw http.ResponseWriter, r *http.Request) {
	if w.stops(r, true) {
		panic(http.ErrAbortHandler)
	}
	if !isWrite(r) {
		server.ServeHTTP(rw, r)
		return
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r)
	if w.stops(r, false) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(answer.Body.Bytes())
}

func isWrite(r *http.Request) bool {
	return !slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) &&
		!strings.Contains(r.URL.Path, "/events")
}

func (w *witness) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// stops reports whether the provider is dead before, or else after, a request is done.
func (w *witness) stops(r *http.Request, before bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || !isWrite(r) {
		return w.dead
	}
	if before {
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
	}
	if len(w.writes)-1 == w.moment.write && before != w.moment.after {
		w.dead = true
		w.kill()
	}
	return w.dead
}

func (w *witness) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}
