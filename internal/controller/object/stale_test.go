package object_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSchemaChangesUnderASettledObject shows that an Object stays settled when the target comes to store its manifest
// in another way, here with another default inside of what it applies, and that it still notices drift.
func TestSchemaChangesUnderASettledObject(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o, gadget, crd := w.gadgets(t, partsOf(t, "red"), map[string]any{"part": map[string]any{"size": "small"}})
		mark := target.Audit(t).Mark()

		edit(t, tc, crd, func() { crd.Spec.Versions[0].Schema.OpenAPIV3Schema = partsOf(t, "green") })
		kube.Eventually(t, "the new default", func() (bool, string) {
			setPart(t, tc, gadget, map[string]any{"color": nil}) // Which makes the server store its default.
			color, _, _ := unstructured.NestedString(gadget.Object, "spec", "part", "color")
			return color == "green", color
		})
		awaitPart(t, tc, gadget, map[string]any{"size": "small", "color": "green"})
		holds(t, c, "the Object stays settled", func() (bool, string) {
			got := target.Audit(t).Since(mark).By(w.user).Count()["patch gadgets."+w.target+".example.org"]
			return got == 0, strconv.Itoa(got) + " writes"
		}, o)
		awaitReady(t, c, o)
		setPart(t, tc, gadget, map[string]any{"size": "large"})
		awaitPart(t, tc, gadget, map[string]any{"size": "small", "color": "green"})
		awaitReady(t, c, o)
	})
}

// TestDefaultOfAKeyChanges shows that an Object settles again whose list the target comes to store under other keys
// than before: what it holds is compared with the answer to the last apply, and not with what the same manifest has led
// to earlier. A defect of provider-kubernetes: it applies at each look until it is started anew.
func TestDefaultOfAKeyChanges(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o, gadget, crd := w.gadgets(t, keyedBy(t, "red"), map[string]any{"parts": []any{map[string]any{"size": "small"}}})

		edit(t, tc, crd, func() { crd.Spec.Versions[0].Schema.OpenAPIV3Schema = keyedBy(t, "green") })
		kube.Eventually(t, "an apply with the new default", func() (bool, string) {
			parts, _, _ := unstructured.NestedSlice(gadget.Object, "spec", "parts")
			if cmp.Equal([]any{map[string]any{"size": "small", "color": "green"}}, parts) {
				return true, ""
			}
			kube.Patch(t, tc, gadget, `{"spec":{"parts":[]}}`)
			awaitParts(t, tc, gadget)
			return false, cmp.Diff(nil, parts)
		})
		awaitReady(t, c, o)
		awaitShown(t, c, o, gadget)
		staysUnwritten(t, c, o)
		mark := target.Audit(t).Mark()
		holds(t, c, "the Object stays settled", func() (bool, string) {
			var got kube.Requests
			for _, e := range target.Audit(t).Since(mark).By(w.user) {
				// The server ends the watch of a definition that changes, and the stream asks how far it has come.
				if e.Verb != "list" {
					got = append(got, e)
				}
			}
			return len(got) == 0, got.String()
		}, o)
		awaitReady(t, c, o)
	})
}

// awaitShown waits until an Object shows its resource as it is.
func awaitShown(t *testing.T, c client.Client, o build.Object, resource *unstructured.Unstructured) {
	t.Helper()
	tc := target.Client(t)
	kube.Await(t, tc, resource, "the resource as it is in the status", func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		shown := parse(t, string(o.Observed().Manifest.Raw))
		return shown.GetResourceVersion() == resource.GetResourceVersion(), cmp.Diff(resource.Object, shown.Object)
	})
}

// awaitParts waits until a gadget has parts again.
func awaitParts(t *testing.T, tc client.Client, gadget *unstructured.Unstructured) {
	t.Helper()
	kube.Await(t, tc, gadget, "the parts to come back", func() (bool, string) {
		parts, _, _ := unstructured.NestedSlice(gadget.Object, "spec", "parts")
		return len(parts) > 0, "there are none"
	})
}

// keyedBy returns a schema of parts. The size and the color are their keys, and a color is given as the default.
func keyedBy(t *testing.T, color string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return specOf(t, `"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["size","color"],
		"items":{"type":"object","required":["size"],`+sizeAndColor(color)+`}}`)
}

// specOf returns a schema of a spec with properties.
func specOf(t *testing.T, properties string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	text := `{"type":"object","properties":{"spec":{"type":"object","properties":{` + properties + `}}}}`
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func sizeAndColor(color string) string {
	return `"properties":{"size":{"type":"string"},"color":{"type":"string","default":"` + color + `"}}`
}

// partsOf returns a schema in which a part has a default color.
func partsOf(t *testing.T, color string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return specOf(t, `"part":{"type":"object",`+sizeAndColor(color)+`}`)
}

// gadgets makes a Gadget of a spec, of a definition with a schema, by an Object.
func (w world) gadgets(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, spec map[string]any) (
	o build.Object, made *unstructured.Unstructured, crd *apiextensionsv1.CustomResourceDefinition,
) {
	t.Helper()
	group := w.target + ".example.org"
	crd = gadgets(group)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
	kube.Create(t, w.tc, crd)
	m := gadget(group, w.target)
	m["spec"] = spec
	return w.keep(t, m), &unstructured.Unstructured{Object: gadget(group, w.target)}, crd
}

func setPart(t *testing.T, tc client.Client, gadget *unstructured.Unstructured, part map[string]any) {
	t.Helper()
	patch := build.Raw(build.Manifest{"spec": map[string]any{"part": part}})
	if err := tc.Patch(t.Context(), gadget, client.RawPatch(types.MergePatchType, patch.Raw),
		&client.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
}

func awaitPart(t *testing.T, tc client.Client, gadget *unstructured.Unstructured, want map[string]any) {
	t.Helper()
	kube.Await(t, tc, gadget, "the part", func() (bool, string) {
		got, _, _ := unstructured.NestedMap(gadget.Object, "spec", "part")
		return cmp.Equal(want, got), cmp.Diff(want, got)
	})
}

// TestRetargetedObject shows that an Object whose ProviderConfig comes to mean other credentials is not taken for
// settled by what it has applied before, but by what the resource holds.
func TestRetargetedObject(t *testing.T) {
	lc := local.Client(t)
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, lc, &corev1.Namespace{ObjectMeta: build.Meta("", w.target)})
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		w.awaitData(t, "settings", "color", "blue")

		setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, local.User(t, user, "system:masters")))
		w.tc = lc
		w.awaitData(t, "settings", "color", "blue")
		awaitReady(t, w.c, o)
	})
}
