package object_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// sickObjects are more Objects than there are workers.
	sickObjects = 60
	// internalSecret is what a server has that is none of Kubernetes, and that no tenant may see.
	internalSecret = "node-role-secret-123"
)

// createSick makes the front sick, and creates an Object of its target.
func (f *front) createSick(t *testing.T, c client.Client, s build.Scope) build.Object {
	t.Helper()
	f.sick.Store(true)
	w := newWorldOf(t, c, s, f.cfg)
	o := w.object(build.ConfigMap(w.target, "settings"))
	kube.Create(t, c, o)
	return o
}

// A front stands before the target, and answers in its place once it is sick.
type front struct {
	cfg   *rest.Config
	sick  atomic.Bool
	asked atomic.Int64 // how often it has answered in the target's place
}

// newFront returns a front that is well. answer reports whether it has answered a request.
func newFront(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) *front {
	t.Helper()
	f := &front{}
	f.cfg = kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.sick.Load() && answer(countingWriter{w, &f.asked}, r) {
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	return f
}

// A countingWriter counts the answers that are begun.
type countingWriter struct {
	http.ResponseWriter

	begun *atomic.Int64
}

// WriteHeader begins an answer.
func (w countingWriter) WriteHeader(code int) {
	w.begun.Add(1)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the writer of the server.
func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// askAnew makes the front sick and replaces the connection of a world, so that all is asked anew, and waits until the
// front has begun to answer in the target's place.
func (f *front) askAnew(t *testing.T, w world) {
	t.Helper()
	f.sick.Store(true)
	setKubeconfig(t, w.c, w.namespace, "credentials", append(kube.Kubeconfig(t, f.cfg), "\n# Other credentials.\n"...))
	f.awaitAsked(t)
}

// awaitAsked waits until the front has begun to answer in the target's place.
func (f *front) awaitAsked(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "requests to the sick target", func() (bool, string) { return f.asked.Load() > 0, "none" })
}

// stall sends half an answer, and then nothing until the client has gone.
func stall(w http.ResponseWriter, r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, `{"kind":"`)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	return true
}

// internalServer starts a server that is none of Kubernetes, and counts its requests.
func internalServer(t *testing.T) (*rest.Config, *atomic.Int64) {
	t.Helper()
	var reached atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"Code":"Success","SecretAccessKey":"`+internalSecret+`"}`)
	}))
	t.Cleanup(func() { kube.EndServer(s) })
	return &rest.Config{Host: s.URL}, &reached
}

// awaitNeighbour checks that an Object of a healthy target is ready.
func awaitNeighbour(t *testing.T, c client.Client, s build.Scope) {
	t.Helper()
	w := newWorld(t, c, s)
	w.keep(t, build.ConfigMap(w.target, "settings"))
}

// showsNothing checks that neither an Object nor its events repeat what an internal server has.
func showsNothing(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	events := &corev1.EventList{}
	kube.List(t, c, events)
	for _, e := range events.Items {
		if strings.Contains(e.Message, internalSecret) {
			t.Errorf("event %s: %s", e.Reason, e.Message)
		}
	}
	kube.Get(t, c, client.ObjectKeyFromObject(o), o)
	if shown := conditions(o) + fmt.Sprint(o.Observed()); strings.Contains(shown, internalSecret) {
		t.Errorf("Object: %s", shown)
	}
}

// forsake takes Objects away without their target.
func forsake(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	for _, o := range objs {
		kube.Delete(t, c, o)
		unpin(t, c, o)
	}
}

// TestStalledDiscoveryHoldsNoWorker shows that a target which never ends its answer to a discovery holds no workers.
func TestStalledDiscoveryHoldsNoWorker(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Path {
			case "/api/v1":
				http.NotFound(w, r)
				return true
			case "/api":
				return stall(w, r)
			}
			return false
		})
		w := newWorldOf(t, c, s, f.cfg)
		objs := w.crowd(t, sickObjects)
		awaitReady(t, c, objs...)
		f.askAnew(t, w)
		kube.Delete(t, c, plain(objs)...)
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, objs[0], failed(commonv1.ReasonTargetUnreachable), "too long to answer")
		f.sick.Store(false)
		kube.AwaitGone(t, c, plain(objs)...)
	})
}

// TestStalledBodiesHoldNoWorker shows that a target which dies in the middle of its answers holds no workers.
func TestStalledBodiesHoldNoWorker(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		var dead atomic.Bool
		f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
			about := strings.Contains(r.URL.Path, "/configmaps/") && r.Method != http.MethodDelete
			if about {
				dead.Store(true)
			}
			return (about || dead.Load()) && stall(w, r)
		})
		f.sick.Store(true)
		objs := newWorldOf(t, c, s, f.cfg).crowd(t, sickObjects)
		f.awaitAsked(t)
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, objs[0], failed(commonv1.ReasonTargetUnreachable))
		forsake(t, c, objs...)
	})
}

// TestRedirectsReachNobody shows that a target cannot have the provider read or write elsewhere.
func TestRedirectsReachNobody(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		for verb, code := range map[string]int{"Read": http.StatusFound, "Write": http.StatusTemporaryRedirect} {
			t.Run(verb, func(t *testing.T) {
				internal, reached := internalServer(t)
				f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
					if (r.Method == http.MethodGet) != (verb == "Read") || r.URL.Path == "/version" {
						return false
					}
					http.Redirect(w, r, internal.Host+"/latest/meta-data/iam", code)
					return true
				})
				o := f.createSick(t, c, s)
				awaitCondition(t, c, o, failed(""), "redirect")
				if n := reached.Load(); n > 0 {
					t.Errorf("requests to the internal server: want none, got %d", n)
				}
				showsNothing(t, c, o)
				f.sick.Store(false)
				awaitReady(t, c, o)
			})
		}
	})
}

// TestInternalServerStaysUnseen shows that nothing of a server that is none of Kubernetes is shown to anyone who points
// a kubeconfig at it.
func TestInternalServerStaysUnseen(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		internal, _ := internalServer(t)
		w := newWorldOf(t, c, s, internal)
		o := w.object(build.ConfigMap(w.target, "settings"))
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(""), "not as a Kubernetes API server does")
		showsNothing(t, c, o)
		setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, targetUser(t)))
		awaitReady(t, c, o)
	})
}

// TestDeniedAddress shows that an address of the host itself is for operators only, and that a tenant is told the rule
// and the flag.
func TestDeniedAddress(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		f := newFront(t, nil)
		u, err := url.Parse(f.cfg.Host)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorldOf(t, c, s, &rest.Config{Host: "http://0.0.0.0:" + u.Port()})
		o := w.object(build.ConfigMap(w.target, "settings"))
		kube.Create(t, c, o)
		if s.Name == build.Cluster().Name {
			awaitReady(t, c, o)
			return
		}
		awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection), "0.0.0.0/8", "--allowed-target-cidrs")
		setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, f.cfg))
		awaitReady(t, c, o)
	})
}
