package object_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// refusedObjects is the variable with the number of Objects that a target refuses over and over.
const refusedObjects = "REFUSED_OBJECTS"

// TestRefusedObjectsRest shows that Objects whose target refuses them over and over cost few requests, and that all of
// them are kept soon after the cause has gone. Nothing reports that: one retry succeeds, and the others follow.
func TestRefusedObjectsRest(t *testing.T) {
	const window = 10 * time.Second
	// However many there are, they cost less than 5 requests in a second.
	objects, atRest, rested := 40, int64(12), soon
	if v := os.Getenv(refusedObjects); v != "" {
		var err error
		if objects, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
		atRest, rested = 50, 10*time.Minute
	}
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		var writes atomic.Int64
		cfg := kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch {
					writes.Add(1)
				}
				server.ServeHTTP(w, r)
			})
		})
		ns, pc := connect(t, c, s, cfg)
		missing := target.Namespace(t) + "-later"
		objs := make([]build.Object, objects)
		for i := range objs {
			objs[i] = s.Object(ns, fmt.Sprintf("%s-%d", missing, i), pc, build.ConfigMap(missing, strconv.Itoa(i)))
			kube.Create(t, c, objs[i])
		}
		kube.EventuallyBy(t, rested, "the target to be asked seldom", func() (bool, string) {
			before := writes.Load()
			time.Sleep(window)
			n := writes.Load() - before
			t.Logf("%d writes in %s", n, window)
			return n <= atRest, fmt.Sprintf("%d writes in %s", n, window)
		})
		kube.Create(t, target.Client(t), &corev1.Namespace{ObjectMeta: build.Meta("", missing)})
		kube.Figure(t, strconv.Itoa(objects)+" Objects to be Ready after their namespace exists", func() time.Duration {
			began := time.Now()
			for _, o := range objs {
				awaitReady(t, c, o)
			}
			return time.Since(began)
		})
	})
}
