package object_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestForeignAnswerToDeletion shows that a resource is not taken for deleted because of what a proxy answers.
func TestForeignAnswerToDeletion(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
			"NotFound": http.NotFound,
			"Success":  func(http.ResponseWriter, *http.Request) {},
			"SuccessJSON": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}")
			},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodDelete {
						return false
					}
					answer(w, r)
					return true
				})
				tns := target.Namespace(t)
				ns, pc := connect(t, c, s, f.cfg)
				o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings"))
				createReady(t, c, o)
				f.sick.Store(true)
				removeInVain(t, c, tc, o, tns)
				for _, e := range eventsOf(t, c, o) {
					if e.Reason == "DeletedExternalResource" {
						t.Errorf("no event says that it is deleted: got %s", e.Message)
					}
				}
				f.sick.Store(false)
				kube.AwaitGone(t, c, o)
			})
		}
	})
}

// removeInVain deletes an Object whose target does not answer as an API server does. The Object says so, and its
// resource stays.
func removeInVain(t *testing.T, c, tc client.Client, o build.Object, namespace string) {
	t.Helper()
	kube.Delete(t, c, o)
	awaitCondition(t, c, o, failed(""), "not as a Kubernetes API server does")
	if err := tc.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "settings"},
		&corev1.ConfigMap{}); err != nil {
		t.Errorf("the resource is there: got %v", err)
	}
}

// TestForeignNotFoundIsNotAbsent shows that an Object does not go without its resource because a proxy answers in the
// target's place.
func TestForeignNotFoundIsNotAbsent(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
			http.NotFound(w, r)
			return true
		})
		tns := target.Namespace(t)
		ns, pc := connect(t, c, s, f.cfg)
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings"))
		createReady(t, c, o)
		f.sick.Store(true)
		setKubeconfig(t, c, ns, "credentials", append(kube.Kubeconfig(t, f.cfg), "\n# Other credentials.\n"...))
		f.awaitAsked(t)
		removeInVain(t, c, tc, o, tns)
		f.sick.Store(false)
		kube.AwaitGone(t, c, o)
	})
}

// TestBombIsNotRead shows what users see of a target whose answers are too large.
func TestBombIsNotRead(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/configmaps/") {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, `{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"`)
			zeros := make([]byte, 1<<20)
			for range 32 {
				_, _ = z.Write(zeros)
			}
			_ = z.Close()
			return true
		})
		o := f.createSick(t, c, s)
		awaitCondition(t, c, o, failed(""),
			"server answers with more than "+map[string]string{"Cluster": "8 MiB", "Namespaced": "4 MiB"}[s.Name])
		f.sick.Store(false)
		awaitReady(t, c, o)
	})
}
