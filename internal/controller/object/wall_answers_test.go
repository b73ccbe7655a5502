package object_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestForeignAnswerToDeletion shows that a resource is not taken for deleted because of what a proxy answers.
func TestForeignAnswerToDeletion(t *testing.T) {
	c := provide(t)
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
				w := newWorldOf(t, c, s, f.cfg)
				o := w.keep(t, build.ConfigMap(w.target, "settings"))
				f.sick.Store(true)
				w.removeInVain(t, o)
				if told := eventsFor(t, c, o, "DeletedExternalResource"); len(told) > 0 {
					t.Errorf("no event says that it is deleted: got %s", told)
				}
				f.sick.Store(false)
				kube.AwaitGone(t, c, o)
			})
		}
	})
}

// removeInVain deletes an Object whose target does not answer as an API server does. The Object says so, and its
// resource stays.
func (w world) removeInVain(t *testing.T, o build.Object) {
	t.Helper()
	kube.Delete(t, w.c, o)
	awaitCondition(t, w.c, o, failed(""), "not as a Kubernetes API server does")
	w.exists(t, emptySettings(w.target), true)
}

// TestForeignNotFoundIsNotAbsent shows that an Object does not go without its resource because a proxy answers in the
// target's place.
func TestForeignNotFoundIsNotAbsent(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		f := newFront(t, func(w http.ResponseWriter, r *http.Request) bool {
			http.NotFound(w, r)
			return true
		})
		w := newWorldOf(t, c, s, f.cfg)
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		f.askAnew(t, w)
		w.removeInVain(t, o)
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
