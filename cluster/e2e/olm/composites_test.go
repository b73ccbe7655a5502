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
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// fleetSize is how many Deployments one composite is made of.
	fleetSize = 30
	// gust is the pause between two changes of the ConfigMap of a composite.
	gust = 500 * time.Millisecond
	// responsive is the condition of a composite whose circuit breaker is closed.
	responsive xpv2.ConditionType = "Responsive"
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
	startCrossplane(t, local.StartCrossplane, s.server)
	runFunctions(t, s.c, startRegistry(t))
	runScheduler(t)
	s.provider = startOn(s.whole, s.server)
	t.Run("Deployments", s.rollsOut)
	t.Run("BusyConfigMap", s.storms)
}

// rollsOut creates a composite of Deployments that roll out at the same time.
func (s *site) rollsOut(t *testing.T) {
	var parts []any
	for i := range fleetSize {
		d := build.Deployment("default", fmt.Sprintf("fleet-%d", i))
		d["spec"].(map[string]any)["replicas"] = int64(2)
		parts = append(parts, part(d, map[string]any{
			"policy": "DeriveFromCelQuery", "celQuery": "object.status.availableReplicas == 2",
		}))
	}
	m, began := s.server.Audit(t).Mark(), time.Now()
	xr := s.compose(t, "Fleet", parts)
	s.awaitComposite(t, xr)
	took := time.Since(began)
	writes := 0
	for what, n := range s.server.Audit(t).Since(m).By("provider").Count() {
		if strings.HasSuffix(what, " objects.kubernetes.m.crossplane.io/status") {
			writes += n
		}
	}
	t.Logf("%d Deployments were Ready after %s, with %d writes of status", fleetSize, took.Round(time.Millisecond), writes)
	if most := 3 * fleetSize; writes > most {
		t.Errorf("writes of status while %d Deployments roll out: want at most %d, got %d", fleetSize, most, writes)
	}
	s.removeComposite(t, xr)
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
	ended, want := time.Now(), strconv.Itoa(value-1)
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
	t.Logf("%d changes; the last was shown after %s", value, time.Since(ended).Round(time.Millisecond))
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

// compose defines a composite kind with the given parts, and creates one composite.
func (s *site) compose(t *testing.T, kind string, parts []any) *unstructured.Unstructured {
	t.Helper()
	const group, version = "example.org", "example.org/v1"
	plural := strings.ToLower(kind) + "s"
	resources := make([]any, 0, len(parts))
	for i, p := range parts {
		resources = append(resources, map[string]any{"name": fmt.Sprintf("part-%d", i), "base": p})
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"scope": "Namespaced", "group": group, "names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "referenceable": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	composition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
		"metadata": map[string]any{"name": plural},
		"spec": map[string]any{
			"compositeTypeRef": map[string]any{"apiVersion": version, "kind": kind}, "mode": "Pipeline",
			"pipeline": []any{map[string]any{
				"step": "resources", "functionRef": map[string]any{"name": patchFunction},
				"input": map[string]any{
					"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources,
				},
			}, map[string]any{"step": "ready", "functionRef": map[string]any{"name": readyFunction}}},
		},
	}}
	for _, o := range []client.Object{definition, composition} {
		if err := s.c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	xr := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	xr.SetAPIVersion(version)
	xr.SetKind(kind)
	xr.SetNamespace("team")
	xr.SetName("one")
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
	if status, why := s.condition(t, xr, responsive); status == string(corev1.ConditionFalse) {
		t.Fatalf("the circuit breaker of %s is open: %s", xr.GetKind(), why)
	}
}

// removeComposite deletes a composite, and waits until it, its Objects and their pods are gone.
func (s *site) removeComposite(t *testing.T, xr *unstructured.Unstructured) {
	t.Helper()
	if err := s.c.Delete(t.Context(), xr); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, xr.GetKind()+" and all that it is made of to be gone", func() (bool, string) {
		gone := apierrors.IsNotFound(s.c.Get(t.Context(), client.ObjectKeyFromObject(xr), xr.DeepCopy()))
		s.listObjects(t, composites)
		pods, sets := &corev1.PodList{}, &appsv1.ReplicaSetList{}
		for _, l := range []client.ObjectList{pods, sets} {
			if err := s.tc.List(t.Context(), l, client.InNamespace("default")); err != nil {
				return false, err.Error()
			}
		}
		left := len(s.objects) + len(pods.Items) + len(sets.Items)
		return gone && left == 0, fmt.Sprintf("%d Objects, %d pods", len(s.objects), len(pods.Items))
	})
}
