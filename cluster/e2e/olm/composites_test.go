package olm

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// fleetSize is how many Deployments one composite is made of.
	fleetSize = 30
	// gust is the pause between two changes of the ConfigMap of a composite.
	gust = 500 * time.Millisecond
	// responsive is the condition of a composite whose circuit breaker is closed.
	responsive xpv2.ConditionType = "Responsive"
	// fleetTries is how many such composites are tried.
	fleetTries = 3
	// fleetWrites is how often the status of one of its Objects may be written meanwhile.
	fleetWrites = 3
)

// storm returns for how long the ConfigMap of a composite changes.
func storm(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("COMPOSITE_STORM"), "45s"))
	if err != nil {
		t.Fatalf("COMPOSITE_STORM: %v", err)
	}
	return d
}

// TestComposites shows that Crossplane with default flags keeps following composites whose resources change often:
// thirty Deployments that roll out together, and a ConfigMap that changes twice a second. Its circuit breaker opens
// after a hundred changes.
func TestComposites(t *testing.T) {
	s := newSite(t)
	crossplane.Start(t, local.StartCrossplane, s.server.Config())
	host := crossplane.StartRegistry(t)
	crossplane.RunFunctions(t, s.c, host)
	kube.RunScheduler(t, target.User(t, "scheduler", admins), nodeName)
	s.provider = startOn(s.whole, s.server)
	t.Run("Deployments", s.rollsOut)
	t.Run("BusyConfigMap", s.storms)
	t.Run("Guide", func(t *testing.T) { s.followsGuide(t, host) })
}

// rollsOut creates a composite of Deployments that roll out at the same time. On a busy machine Crossplane may make all
// of them before the first one is seen, and count more changes than elsewhere: it is tried again then.
func (s *site) rollsOut(t *testing.T) {
	// With the first composite of a kind Crossplane begins to watch what such are composed of, and takes all that is
	// there then for changes, too. How many these are is not the provider's. The provider begins to watch Deployments.
	first := s.compose(t, "Fleet", []any{rollout("first")})
	s.awaitComposite(t, first)
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
	s.composition(t, "Fleet", name, parts)
	m := s.server.Audit(t).Mark()
	xr := s.composite(t, "Fleet", name)
	kube.Eventually(t, "Fleet to be Ready, or its circuit breaker open", func() (bool, string) {
		ready, why := s.condition(t, xr, xpv2.TypeReady)
		return ready == string(corev1.ConditionTrue) || s.circuit(t, xr) != "", why
	})
	if status, why := s.condition(t, xr, responsive); status != string(corev1.ConditionTrue) {
		wrong = "want the composite to be Responsive, got " + status + ": " + why
	} else {
		s.checkFleetWrites(t, m)
	}
	s.deleteComposite(t, xr)
	return wrong
}

// circuit returns why the circuit breaker of a composite is open, empty if it is not.
func (s *site) circuit(t *testing.T, xr *unstructured.Unstructured) string {
	t.Helper()
	if status, why := s.condition(t, xr, responsive); status == string(corev1.ConditionFalse) {
		return "the circuit breaker of " + xr.GetKind() + " is open: " + why
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
	return part(d, map[string]any{
		"policy": "DeriveFromCelQuery", "celQuery": "object.status.availableReplicas == 2",
	})
}

// storms creates a composite of a ConfigMap that another client keeps changing.
func (s *site) storms(t *testing.T) {
	xr := s.compose(t, "Busy", []any{
		part(build.ConfigMap("default", "busy"), map[string]any{"policy": "SuccessfulCreate"}),
	})
	s.awaitComposite(t, xr)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta("default", "busy")}
	value, ticks := 0, time.NewTicker(gust)
	defer ticks.Stop()
	for end := time.Now().Add(storm(t)); time.Now().Before(end); value++ {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"beat":"%d"}}`, value))
		if err := s.tc.Patch(t.Context(), cm, patch); err != nil {
			t.Fatal(err)
		}
		s.checkResponsive(t, xr)
		<-ticks.C
	}
	want := strconv.Itoa(value - 1)
	kube.Eventually(t, "the last change to be shown", func() (bool, string) {
		s.checkResponsive(t, xr)
		s.listObjects(t, composites)
		for _, o := range s.objects {
			beat, _, _ := unstructured.NestedString(o.Object, "status", "atProvider", "manifest", "data", "beat")
			if beat != "" {
				return beat == want, beat
			}
		}
		return false, "no beat"
	})
	s.removeComposite(t, xr)
}

// part returns a namespaced Object as a Composition makes it.
func part(m build.Manifest, readiness map[string]any) any {
	return map[string]any{
		"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
		"spec": map[string]any{
			"providerConfigRef": map[string]any{"kind": "ClusterProviderConfig", "name": "default"},
			"readiness":         readiness,
			"forProvider":       map[string]any{"manifest": map[string]any(m)},
		},
	}
}

// The composite kinds are of this group and version.
const (
	compositeGroup   = "example.org"
	compositeVersion = compositeGroup + "/v1"
)

// compose defines a composite kind, with the given parts in its first composition, and creates one composite.
func (s *site) compose(t *testing.T, kind string, parts []any) *unstructured.Unstructured {
	t.Helper()
	plural := strings.ToLower(kind) + "s"
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + compositeGroup},
		"spec": map[string]any{
			"scope": "Namespaced", "group": compositeGroup, "names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "referenceable": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	kube.Create(t, s.c, definition)
	s.composition(t, kind, "one", parts)
	return s.composite(t, kind, "one")
}

// composition makes a composition of a composite kind with the given parts.
func (s *site) composition(t *testing.T, kind, name string, parts []any) {
	t.Helper()
	resources := make([]any, 0, len(parts))
	for i, p := range parts {
		resources = append(resources, map[string]any{"name": fmt.Sprintf("part-%d", i), "base": p})
	}
	composition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
		"metadata": map[string]any{"name": compositionOf(kind, name)},
		"spec": map[string]any{
			"compositeTypeRef": map[string]any{"apiVersion": compositeVersion, "kind": kind}, "mode": "Pipeline",
			"pipeline": []any{map[string]any{
				"step": "resources", "functionRef": map[string]any{"name": crossplane.PatchFunction},
				"input": map[string]any{
					"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources,
				},
			}, map[string]any{"step": "ready", "functionRef": map[string]any{"name": crossplane.ReadyFunction}}},
		},
	}}
	kube.Create(t, s.c, composition)
}

// compositionOf returns the name of a composition of a composite kind.
func compositionOf(kind, name string) string { return strings.ToLower(kind) + "s-" + name }

// composite creates a composite of the composition of its name.
func (s *site) composite(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	xr := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"crossplane": map[string]any{
		"compositionRef": map[string]any{"name": compositionOf(kind, name)},
	}}}}
	xr.SetAPIVersion(compositeVersion)
	xr.SetKind(kind)
	xr.SetNamespace("team")
	xr.SetName(name)
	kube.Eventually(t, "kind "+kind+" to be served", func() (bool, string) {
		err := s.c.Create(t.Context(), xr)
		return err == nil, fmt.Sprint(err)
	})
	return xr
}

// awaitComposite waits until a composite is Ready.
func (s *site) awaitComposite(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, xr.GetKind()+" to be Ready", func() (bool, string) {
		s.checkResponsive(t, xr)
		status, why := s.condition(t, xr, xpv2.TypeReady)
		return status == string(corev1.ConditionTrue), why
	})
	s.checkResponsive(t, xr)
}

// checkResponsive fails the test if the circuit breaker of a composite is open.
func (s *site) checkResponsive(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	if why := s.circuit(t, xr); why != "" {
		t.Fatal(why)
	}
}

// deleteComposite deletes a composite, and waits until it is gone.
func (s *site) deleteComposite(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	kube.Delete(t, s.c, xr)
	kube.Eventually(t, xr.GetKind()+" to be gone", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(xr), xr.DeepCopy())
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// removeComposite deletes a composite, and waits until it, its Objects and their pods are gone.
func (s *site) removeComposite(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	s.deleteComposite(t, xr)
	kube.Eventually(t, xr.GetKind()+" and all that it is made of to be gone", func() (bool, string) {
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
