package object_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSickTargetsDelayNoOther shows that targets which answer everything but the requests about single resources do not
// hold the workers, however many they are: an Object of another target is ready about as soon as alone. Their own
// Objects say what is wrong, and are kept once their targets answer.
func TestSickTargetsDelayNoOther(t *testing.T) {
	const targets, each, probes = 6, 60, 3
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		well := newWorld(t, c, s)
		well.timeToReady(t, "first")
		alone := well.timeToReady(t, "alone")
		answers := make(chan struct{})
		var all []build.Object
		for i := range targets {
			ns, pc := connect(t, c, s, sick(t, answers))
			for n := range each {
				name := fmt.Sprintf("%s-%d-%d", well.target, i, n)
				all = append(all, s.Object(ns, name, pc, build.ConfigMap(well.target, name, "color", "blue")))
				kube.Create(t, c, all[len(all)-1])
			}
		}
		for i := range probes {
			if beside := well.timeToReady(t, fmt.Sprintf("beside-%d", i)); beside > 2*alone+3*time.Second {
				t.Errorf("an Object of a target that answers: want it ready about as soon as alone, after %s, got %s",
					alone, beside)
			} else {
				t.Logf("alone %s, beside %s", alone, beside)
			}
		}
		awaitCondition(t, c, all[len(all)-1], failed(commonv1.ReasonTargetUnreachable))
		close(answers)
		begin := time.Now()
		for _, o := range all {
			awaitReady(t, c, o)
		}
		t.Logf("all are ready %s after their targets answer", time.Since(begin))
	})
}

// sick returns a target that answers no request about a single ConfigMap until told to.
func sick(t *testing.T, answers <-chan struct{}) *rest.Config {
	t.Helper()
	return kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/configmaps/") {
				select {
				case <-answers:
				case <-r.Context().Done():
					return
				}
			}
			server.ServeHTTP(w, r)
		})
	})
}
