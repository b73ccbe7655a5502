package object_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
// changes it, that an Object whose query is true asks nothing, and that one whose query has no answer says why, and
// keeps its resource all the same. A defect of provider-kubernetes: it does not say why.
func TestReadinessFollowsQuery(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
		o.Desired().Readiness.CelQuery = "object.?data.?phase.orValue('').lowerAscii() == 'ready'" // Without a policy.
		kube.Create(t, c, o)
		awaitCondition(t, c, o, synced)
		awaitMessage(t, c, o, unavailable, "The CEL query is false")

		setPhase(t, w.tc, w.target, `"Ready"`)
		awaitReady(t, c, o)
		w.asksNothing(t, o)

		setPhase(t, w.tc, w.target, "null")
		awaitCondition(t, c, o, unavailable)

		kube.Edit(t, c, o, func() {
			o.Desired().Readiness = queries("object.data.shape == 'round'")
			o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "settings", "color", "red"))
		})
		awaitMessage(t, c, o, unavailable, "CEL query fails: at 1:12: no such key: shape")
		w.awaitData(t, "settings", "color", "red")
		kube.Edit(t, c, o, func() { o.Desired().Readiness.Policy = commonv1.ReadinessSuccessfulCreate })
		awaitMessage(t, c, o, wantCondition{Type: xpv2.TypeReady, Status: "True", Reason: xpv2.ReasonAvailable},
			"celQuery is ignored, because policy is SuccessfulCreate: set policy to DeriveFromCelQuery")
		kube.Remove(t, c, o)
	})
}

// setPhase sets a key of the ConfigMap of a test that no Object owns.
func setPhase(t *testing.T, tc client.Client, namespace, value string) {
	t.Helper()
	kube.Patch(t, tc, emptySettings(namespace), `{"data":{"phase":`+value+`}}`)
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
			awaitCondition(t, c, o, notReady, "is at generation 2, but its status is of generation 1")
			observe(2)
			awaitReady(t, c, o)
		})
	}
}

// TestReadinessFollowsHealth shows that an Object is ready while its Deployment works, that one which has missed its
// deadline has failed, and recovers, and that this asks nothing. The test is the controller of the Deployment.
func TestReadinessFollowsHealth(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		m := build.Deployment(w.target, "web")
		m["spec"].(map[string]any)["replicas"] = 1
		o := w.object(m)
		o.Desired().Readiness.Policy = commonv1.ReadinessDeriveFromHealth
		kube.Create(t, c, o)
		awaitCondition(t, c, o, synced)
		awaitMessage(t, c, o, unavailable, "In progress: Replicas: 0/1")

		d := &appsv1.Deployment{ObjectMeta: build.Meta(w.target, "web")}
		is := func(available int, progressing, reason string) {
			t.Helper()
			kube.PatchStatus(t, w.tc, d, fmt.Sprintf(`{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,`+
				`"readyReplicas":%[1]d,"availableReplicas":%[1]d,"conditions":[{"type":"Available","status":"True"},`+
				`{"type":"Progressing","status":%q,"reason":%q}]}}`, available, progressing, reason))
		}
		is(0, "False", "ProgressDeadlineExceeded")
		awaitMessage(t, c, o, unavailable, "Failed: Progress deadline exceeded")
		is(1, "True", "NewReplicaSetAvailable")
		awaitReady(t, c, o)
		w.asksNothing(t, o)
		kube.PatchStatus(t, w.tc, d, `{"status":{"availableReplicas":0}}`)
		awaitMessage(t, c, o, unavailable, "In progress: Available: 0/1")
		kube.Edit(t, c, o, func() { o.Desired().Readiness.Policy = "" })
		awaitReady(t, c, o)
	})
}

// TestHealthWaitsForStatus shows that a resource of a kind with a status is not healthy before somebody has written
// that, that one which shows nothing of its health is ready and says so, and that a status which cannot be read is not.
func TestHealthWaitsForStatus(t *testing.T) {
	w := newWorld(t, provide(t), build.Namespaced())
	group := w.target + ".example.org"
	definition := build.Definition(group, "gates")
	definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: new(true),
	}
	kube.Create(t, w.tc, definition)
	c, o := w.c, w.object(gate(group, "v1", w.target, "size", "big"))
	o.Desired().Readiness.Policy = commonv1.ReadinessDeriveFromHealth
	kube.Create(t, c, o)
	awaitMessage(t, c, o, unavailable, "In progress: the resource has no status yet")
	live := build.Resource(group+"/v1", "Gate", w.target, "gate")
	kube.PatchStatus(t, w.tc, live, `{"status":{"phase":"Open"}}`)
	shows := wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionTrue, Reason: xpv2.ReasonAvailable}
	awaitMessage(t, c, o, shows, "the resource exists, and has no status that reports its health")
	kube.PatchStatus(t, w.tc, live, `{"status":{"conditions":"none"}}`)
	awaitMessage(t, c, o, unavailable, "its health cannot be told: status.conditions is malformed")
	kube.PatchStatus(t, w.tc, live, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	awaitMessage(t, c, o, shows, "")
	kube.PatchStatus(t, w.tc, live, `{"status":{"observedGeneration":"0"}}`)
	awaitMessage(t, c, o, unavailable, "In progress: Gate generation is 1, but latest observed generation is 0")
	kube.PatchStatus(t, w.tc, live, `{"status":{"observedGeneration":"1"}}`)
	awaitMessage(t, c, o, shows, "")
}

// TestReadyFollowsItsKind shows that an Object is not ready when the target serves the kind of its resource no more,
// and is again when that is back.
func TestReadyFollowsItsKind(t *testing.T) {
	t.Parallel()
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

// TestLargeManifest shows that an Object whose resource does not fit into its status beside the manifest is applied
// once, gets its conditions, says that it does not show the resource, and rests; and that drift is reverted, and the
// resource deleted in the end.
func TestLargeManifest(t *testing.T) {
	c := provide(t)
	data := map[string]any{"large": strings.Repeat("x", 900_000)}
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.object(build.Manifest{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.target, "name": "settings"},
			"data": data,
		})
		createReady(t, c, o)
		if o.Observed().OmittedBytes < 100_000 || len(o.Observed().Manifest.Raw) > 1000 {
			t.Errorf("want the content left out, got omittedBytes %d and %d bytes", o.Observed().OmittedBytes,
				len(o.Observed().Manifest.Raw))
		}
		if seen := observed(t, o); seen.GetUID() == "" || seen.GetName() != "settings" || seen.GetNamespace() != w.target {
			t.Errorf("want the resource identified, got %v", seen.ObjectMeta)
		}
		staysUnwritten(t, c, o)
		w.asksNothing(t, o)

		cm := emptySettings(w.target)
		kube.Patch(t, w.tc, cm, `{"data":{"large":"drift"}}`)
		kube.Await(t, w.tc, cm, "the drift to be reverted", func() (bool, string) {
			return cm.Data["large"] != "drift", "it is not"
		})
		kube.Remove(t, c, o)
	})
}

// TestLargeDefinition shows that a CustomResourceDefinition with more than 1 MiB of schema, many values among it, is
// applied, listed and watched: bounds of answers are none of honest objects.
func TestLargeDefinition(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		group, properties := tns+".example.com", map[string]any{}
		for i := range 2200 {
			properties[fmt.Sprintf("field%04d", i)] = map[string]any{
				"type": "string", "description": strings.Repeat("{[, ", 120),
			}
		}
		definition := build.Manifest{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "larges." + group},
			"spec": map[string]any{
				"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Large", "plural": "larges"},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": properties}},
				}},
			},
		}
		ns, pc := connect(t, c, s, target.User(t, tns+"-maker", "system:masters"))
		o := s.Object(ns, tns, pc, definition)
		createReady(t, c, o)

		ns, pc = connect(t, c, s, target.User(t, tns+"-reader", "system:masters"))
		reader := s.Object(ns, tns+"-reader", pc, definition)
		reader.SetManagementPolicies(observeOnly)
		createReady(t, c, reader)
		if seen := reader.Observed().OmittedBytes; seen < 1<<20 {
			t.Errorf("want more than 1 MiB left out of the status, got %d bytes", seen)
		}
		kube.Remove(t, c, reader)
		kube.Remove(t, c, o)
	})
}
