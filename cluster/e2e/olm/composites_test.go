package olm

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// fleetSize is how many Deployments one composite is made of.
	fleetSize = 30
	// responsive is the condition of a composite whose circuit breaker is closed.
	responsive xpv2.ConditionType = "Responsive"
	// fleetTries is how many such composites are tried.
	fleetTries = 3
	// fleetWrites is how often the status of one of its Objects may be written meanwhile.
	fleetWrites = 3
)

// TestComposites shows that Crossplane with default flags keeps following a composite whose resources change often:
// thirty Deployments that roll out together. Its circuit breaker opens after a hundred changes.
func TestComposites(t *testing.T) {
	s := newSite(t)
	crossplane.Start(t, local.StartCrossplane, s.server.Config())
	host := crossplane.StartRegistry(t)
	crossplane.RunFunctions(t, s.c, host)
	kube.RunScheduler(t, target.User(t, "scheduler", admins), nodeName)
	start(t, s.server)
	t.Run("Deployments", s.rollsOut)
	t.Run("Guide", func(t *testing.T) { s.followsGuide(t, host) })
}

// rollsOut creates a composite of Deployments that roll out at the same time. On a busy machine Crossplane may make all
// of them before the first one is seen, and count more changes than elsewhere: it is tried again then.
func (s *site) rollsOut(t *testing.T) {
	// With the first composite of a kind Crossplane begins to watch what such are composed of, and takes all that is
	// there then for changes, too. How many these are is not the provider's. The provider begins to watch Deployments.
	s.Run(t, "kubectl apply -f - <<'END'\n"+fleets+"END\n")
	s.composition(t, "first", rollout("first"))
	first := s.composite(t, "first")
	kube.Eventually(t, "the first Fleet to be Ready", func() (bool, string) {
		if why := s.circuit(t, first); why != "" {
			t.Fatal(why)
		}
		status, why := s.condition(t, first, xpv2.TypeReady)
		return status == string(corev1.ConditionTrue), why
	})
	wrong := "not tried"
	for n := range fleetTries {
		if wrong = s.fleet(t, fmt.Sprintf("thirty-%d", n)); wrong == "" {
			break
		}
		t.Logf("try %d: %s", n+1, wrong)
	}
	if wrong != "" {
		t.Errorf("none of %d composites has gone as it should: %s", fleetTries, wrong)
	}
	s.removeComposite(t, first)
}

// fleet creates and removes a composite of many Deployments, and returns what went wrong that a busy machine may cause.
func (s *site) fleet(t *testing.T, name string) (wrong string) {
	t.Helper()
	var parts []any
	for i := range fleetSize {
		parts = append(parts, rollout(fmt.Sprintf("%s-%d", name, i)))
	}
	s.composition(t, name, parts...)
	m := s.server.Audit(t).Mark()
	xr := s.composite(t, name)
	kube.Eventually(t, "Fleet to be Ready, or its circuit breaker open", func() (bool, string) {
		ready, why := s.condition(t, xr, xpv2.TypeReady)
		return ready == string(corev1.ConditionTrue) || s.circuit(t, xr) != "", why
	})
	if status, why := s.condition(t, xr, responsive); status != string(corev1.ConditionTrue) {
		wrong = "want the composite to be Responsive, got " + status + ": " + why
	} else {
		s.checkFleetWrites(t, m)
	}
	kube.Remove(t, s.c, xr)
	return wrong
}

// circuit returns why the circuit breaker of a composite is open, empty if it is not.
func (s *site) circuit(t *testing.T, xr *unstructured.Unstructured) string {
	t.Helper()
	if status, why := s.condition(t, xr, responsive); status == string(corev1.ConditionFalse) {
		return "the circuit breaker is open: " + why
	}
	return ""
}

// checkFleetWrites checks how often the status of each Object of a composite was written until all were Ready.
func (s *site) checkFleetWrites(t *testing.T, since kube.Mark) {
	t.Helper()
	writes := map[string]int{}
	for _, r := range s.server.Audit(t).Since(since).By("provider") {
		if strings.HasSuffix(r.Subject(), "objects.kubernetes.m.crossplane.io/status") {
			writes[r.Name]++
		}
	}
	for name, n := range writes {
		if n > fleetWrites {
			t.Errorf("writes of the status of Object %s: want at most %d, got %d", name, fleetWrites, n)
		}
	}
}

// rollout returns an Object that keeps a Deployment of two replicas, and is ready when both are available.
func rollout(name string) any {
	d := build.Deployment("default", name)
	d["spec"].(map[string]any)["replicas"] = int64(2)
	return map[string]any{
		"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
		"spec": map[string]any{
			"providerConfigRef": map[string]any{"kind": "ClusterProviderConfig", "name": "default"},
			"readiness": map[string]any{
				"policy": "DeriveFromCelQuery", "celQuery": "object.status.availableReplicas == 2",
			},
			"forProvider": map[string]any{"manifest": map[string]any(d)},
		},
	}
}

// fleets defines a composite kind.
const fleets = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: fleets.example.org}
spec:
  scope: Namespaced
  group: example.org
  names: {kind: Fleet, plural: fleets}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object}}
`

// composition makes a Composition of Fleets with the given parts.
func (s *site) composition(t *testing.T, name string, parts ...any) {
	t.Helper()
	resources := make([]any, 0, len(parts))
	for i, p := range parts {
		resources = append(resources, map[string]any{"name": fmt.Sprintf("part-%d", i), "base": p})
	}
	kube.Create(t, s.c, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"compositeTypeRef": map[string]any{"apiVersion": "example.org/v1", "kind": "Fleet"}, "mode": "Pipeline",
			"pipeline": []any{map[string]any{
				"step": "resources", "functionRef": map[string]any{"name": crossplane.PatchFunction},
				"input": map[string]any{
					"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources,
				},
			}, map[string]any{"step": "ready", "functionRef": map[string]any{"name": crossplane.ReadyFunction}}},
		},
	}})
}

// composite creates a Fleet by the Composition of its name.
func (s *site) composite(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	xr := build.Resource("example.org/v1", "Fleet", "team", name)
	xr.Object["spec"] = map[string]any{"crossplane": map[string]any{"compositionRef": map[string]any{"name": name}}}
	kube.Eventually(t, "kind Fleet to be served", func() (bool, string) {
		err := s.c.Create(t.Context(), xr)
		return err == nil, fmt.Sprint(err)
	})
	return xr
}

// removeComposite deletes a composite, and waits until it, its Objects and their pods are gone.
func (s *site) removeComposite(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	kube.Remove(t, s.c, xr)
	kube.Eventually(t, "all that a composite is made of to be gone", func() (bool, string) {
		s.listObjects(t, composites)
		pods, sets := &corev1.PodList{}, &appsv1.ReplicaSetList{}
		for _, l := range []client.ObjectList{pods, sets} {
			if err := s.tc.List(t.Context(), l, client.InNamespace("default")); err != nil {
				return false, err.Error()
			}
		}
		left := len(s.objects) + len(pods.Items) + len(sets.Items)
		return left == 0, fmt.Sprintf("%d Objects, %d pods", len(s.objects), len(pods.Items))
	})
}
