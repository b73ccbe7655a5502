package object_test

import (
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// unavailable is condition Ready=False of an Object whose resource is there.
var unavailable = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: xpv2.ReasonUnavailable}

// queries returns the readiness of a CEL query.
func queries(query string) commonv1.Readiness {
	return commonv1.Readiness{Policy: commonv1.ReadinessDeriveFromCelQuery, CelQuery: query}
}

// TestReadinessFollowsQuery shows that readiness is what the query says of the resource, also when somebody else
// changes it, and that an Object whose query is true asks nothing.
func TestReadinessFollowsQuery(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
		o.Desired().Readiness = queries("object.?data.?phase.orValue('').lowerAscii() == 'ready'")
		kube.Create(t, c, o)
		awaitCondition(t, c, o, synced)
		awaitMessage(t, c, o, unavailable, "The CEL query is false")

		setPhase(t, w.tc, w.target, `"Ready"`)
		awaitReady(t, c, o)
		w.asksNothing(t, o)

		setPhase(t, w.tc, w.target, "null")
		awaitCondition(t, c, o, unavailable)
	})
}

// setPhase sets a key of the ConfigMap of a test that no Object owns.
func setPhase(t *testing.T, tc client.Client, namespace, value string) {
	t.Helper()
	kube.Patch(t, tc, emptySettings(namespace), `{"data":{"phase":`+value+`}}`)
}

// TestQueryWithoutAnswer shows that a query which has no answer makes an Object not ready, says why, and does not stop
// it from keeping its resource.
func TestQueryWithoutAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		query  string
		want   string
	}{
		// A defect of provider-kubernetes: it is not ready, and does not say why.
		"NoBool": {
			reason: "What is no bool is reported.",
			query:  "object.data.color",
			want:   "CEL query does not give a bool: it gives a value of type string",
		},
		"NoSuchKey": {
			reason: "What is not there is reported.",
			query:  "object.data.shape == 'round'",
			want:   "CEL query fails: at 1:12: no such key: shape",
		},
		"NoCEL": {
			reason: "What is not CEL is reported.",
			query:  "color == 'blue'",
			want:   "CEL query is invalid: 1:1: undeclared reference to 'color'",
		},
		"Runaway": {
			reason: "What takes too long is reported.",
			query:  "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))",
			want:   "CEL query is too costly: it was stopped at cost 100000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
				o.Desired().Readiness = queries(tc.query)
				kube.Create(t, w.c, o)
				awaitCondition(t, w.c, o, synced)
				t.Log(tc.reason)
				awaitMessage(t, w.c, o, unavailable, tc.want)
				w.awaitData(t, "settings", "color", "blue")
				kube.Remove(t, w.c, o)
			})
		})
	}
}

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
			awaitCondition(t, c, o, notReady, "is at generation 2, and its status still of generation 1")
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
	createReady(t, c, o)
	crd := twoVersions(group)
	kube.Delete(t, w.tc, crd)
	awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse}, "does not serve the kind")
	kube.AwaitGone(t, w.tc, crd)
	kube.Create(t, w.tc, twoVersions(group))
	awaitReady(t, c, o)
}
