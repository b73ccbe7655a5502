package publication

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestRemovesFinalizers shows that our finalizer is taken off an object, and that this is counted, also if the service
// cluster does not serve the kind of the copies.
func TestRemovesFinalizers(t *testing.T) {
	web := func(version string, finalizers ...any) map[string]any {
		u, _ := webIn("a", version).(map[string]any)
		metadata, _ := u["metadata"].(map[string]any)
		metadata["finalizers"] = finalizers
		return u
	}
	var patched []string
	s := &server{objects: []any{web("1", objectsync.Finalizer)}, answers: map[string]http.HandlerFunc{
		"/clusters/a/apis/ws.example.com/v1/namespaces/default/things/web": func(w http.ResponseWriter, r *http.Request) {
			patched = append(patched, r.Method)
			answer(http.StatusOK, web("2"))(w, r)
		},
	}}
	p, _ := newThings(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/apis/example.org/v1/things") {
			http.NotFound(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}), "a")
	p.worker.config.RemoveFinalizers = true
	run(t, p)
	kube.Eventually(t, "the finalizer to be off", func() (bool, string) {
		return p.worker.holdsNone() && p.worker.released.Load() == 1, fmt.Sprint(p.worker.released.Load(), p.status())
	})
	if len(patched) != 1 || patched[0] != http.MethodPatch {
		t.Errorf("want one patch, got %v", patched)
	}
}
