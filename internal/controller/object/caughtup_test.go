package object_test

import (
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReadyMeansReadyNow shows that an Object is not ready between a change of its spec and when the controller of its
// resource has seen that.
func TestReadyMeansReadyNow(t *testing.T) {
	c := provide(t)
	for _, p := range []commonv1.ReadinessPolicy{commonv1.ReadinessDeriveFromObject, commonv1.ReadinessAllTrue} {
		t.Run(string(p), func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			web := func(replicas int64) build.Manifest {
				m := build.Deployment(w.target, "web")
				m["spec"].(map[string]any)["replicas"] = replicas
				return m
			}
			// observe does what the controller does that has brought the Deployment into step.
			observe := func(generation int64) {
				t.Helper()
				d := &appsv1.Deployment{ObjectMeta: build.Meta(w.target, "web")}
				patch := `{"status":{"observedGeneration":` + strconv.FormatInt(generation, 10) +
					`,"conditions":[{"type":"Ready","status":"True"}]}}`
				kube.PatchStatus(t, w.tc, d, patch)
			}
			o := w.object(web(1))
			o.Desired().Readiness.Policy = p
			kube.Create(t, c, o)
			notReady := wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse}
			awaitCondition(t, c, o, notReady)
			observe(1)
			awaitReady(t, c, o)
			setManifest(t, c, o, web(2))
			awaitCondition(t, c, o, notReady, "is of generation 1, and it is at generation 2")
			observe(2)
			awaitReady(t, c, o)
		})
	}
}

// TestReadyFollowsItsKind shows that an Object is not ready when the target serves the kind of its resource no more,
// and is again when that is back.
func TestReadyFollowsItsKind(t *testing.T) {
	w, group := gates(t)
	c, o := w.c, w.object(gate(group, "v1", w.target, "size", "big"))
	kube.Create(t, c, o)
	awaitReady(t, c, o)
	crd := twoVersions(group)
	kube.Delete(t, w.tc, crd)
	awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse}, "does not serve the kind")
	kube.AwaitGone(t, w.tc, crd)
	kube.Create(t, w.tc, twoVersions(group))
	awaitReady(t, c, o)
}
