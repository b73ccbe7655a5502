package object_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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

// TestTooLarge shows that the answers of a control plane to what it cannot store, and to what it does not even read,
// are known.
func TestTooLarge(t *testing.T) {
	c := provide(t)
	for name, size := range map[string]int{"Stored": 1_600_000, "Sent": 2_500_000, "Read": 4_000_000} {
		t.Run(name, func(t *testing.T) {
			o := build.Cluster().Object("", "too-large", "none", build.Manifest{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"large": strings.Repeat("x", size)},
			})
			if err := c.Create(t.Context(), o); !managedadapter.IsTooLarge(err) {
				t.Errorf("%d bytes: want an answer that says it is too large, got: %v", size, err)
			}
		})
	}
}
