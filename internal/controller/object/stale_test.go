package object_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		tns := target.Namespace(t)
		crd := gadgets(tns + ".example.org")
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = partsOf("red")
		kube.Create(t, tc, crd)
		ns, pc := connect(t, c, s, target.User(t, tns, "system:masters"))
		o := s.Object(ns, tns, pc, build.Manifest{
			"apiVersion": tns + ".example.org/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "gadget", "namespace": tns},
			"spec":     map[string]any{"part": map[string]any{"size": "small"}},
		})
		createReady(t, c, o)
		mark := target.Audit(t).Mark()

		edit(t, tc, crd, func() { crd.Spec.Versions[0].Schema.OpenAPIV3Schema = partsOf("green") })
		gadget := parse(t, `{"apiVersion":"`+tns+
			`.example.org/v1","kind":"Gadget","metadata":{"name":"gadget","namespace":"`+tns+`"}}`)
		kube.Eventually(t, "the new default", func() (bool, string) {
			setPart(t, tc, gadget, map[string]any{"color": nil}) // Which makes the server store its default.
			color, _, _ := unstructured.NestedString(gadget.Object, "spec", "part", "color")
			return color == "green", color
		})
		awaitPart(t, tc, gadget, map[string]any{"size": "small", "color": "green"})
		holds(t, c, "the Object stays settled", func() (bool, string) {
			got := target.Audit(t).Since(mark).By(tns).Count()["patch gadgets."+tns+".example.org"]
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
		tns := target.Namespace(t)
		crd := gadgets(tns + ".example.org")
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = keyedBy("red")
		kube.Create(t, tc, crd)
		ns, pc := connect(t, c, s, target.User(t, tns, "system:masters"))
		o := s.Object(ns, tns, pc, build.Manifest{
			"apiVersion": tns + ".example.org/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "gadget", "namespace": tns},
			"spec":     map[string]any{"parts": []any{map[string]any{"size": "small"}}},
		})
		createReady(t, c, o)

		edit(t, tc, crd, func() { crd.Spec.Versions[0].Schema.OpenAPIV3Schema = keyedBy("green") })
		gadget := parse(t, `{"apiVersion":"`+tns+
			`.example.org/v1","kind":"Gadget","metadata":{"name":"gadget","namespace":"`+tns+`"}}`)
		kube.Eventually(t, "an apply with the new default", func() (bool, string) {
			parts, _, _ := unstructured.NestedSlice(gadget.Object, "spec", "parts")
			if cmp.Equal([]any{map[string]any{"size": "small", "color": "green"}}, parts) {
				return true, ""
			}
			drift := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"parts":[]}}`))
			if err := tc.Patch(t.Context(), gadget, drift); err != nil {
				return false, err.Error()
			}
			awaitParts(t, tc, gadget)
			return false, cmp.Diff(nil, parts)
		})
		awaitReady(t, c, o)
		awaitShown(t, c, o, gadget)
		staysUnwritten(t, c, o)
		mark := target.Audit(t).Mark()
		holds(t, c, "the Object stays settled", func() (bool, string) {
			var got kube.Requests
			for _, e := range target.Audit(t).Since(mark).By(tns) {
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
func keyedBy(color string) *apiextensionsv1.JSONSchemaProps {
	part := objectOf(map[string]apiextensionsv1.JSONSchemaProps{
		"size":  {Type: "string"},
		"color": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(color))}},
	})
	part.Required = []string{"size"}
	parts := apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &part}, XListType: new("map"),
		XListMapKeys: []string{"size", "color"},
	}
	spec := objectOf(map[string]apiextensionsv1.JSONSchemaProps{"parts": parts})
	all := objectOf(map[string]apiextensionsv1.JSONSchemaProps{"spec": spec})
	return &all
}

func objectOf(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
}

// partsOf returns a schema in which a part has a default color.
func partsOf(color string) *apiextensionsv1.JSONSchemaProps {
	part := objectOf(map[string]apiextensionsv1.JSONSchemaProps{
		"size":  {Type: "string"},
		"color": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(color))}},
	})
	spec := objectOf(map[string]apiextensionsv1.JSONSchemaProps{"part": part})
	all := objectOf(map[string]apiextensionsv1.JSONSchemaProps{"spec": spec})
	return &all
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
	c, tc := provide(t), target.Client(t)
	lc := local.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		kube.Create(t, lc, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tns}})
		ns, pc := connect(t, c, s, targetUser(t))
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
		createReady(t, c, o)
		key, want := types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "blue"}
		awaitData(t, tc, key, want)

		setKubeconfig(t, c, ns, "credentials", kube.Kubeconfig(t, local.User(t, user, "system:masters")))
		awaitData(t, lc, key, want)
		awaitReady(t, c, o)
	})
}
