package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// storedGroup is the group of a copy of our definition, which no other test uses.
const storedGroup = "stored.example.com"

// laxly returns our definition in another group, with a schema that accepts anything, and with its own.
func laxly(t *testing.T) (lax, strict *unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "package", "crds",
		"syncagent.kcp.io_publishedresources.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	strict = &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &strict.Object); err != nil {
		t.Fatal(err)
	}
	strict.SetName("publishedresources." + storedGroup)
	spec, _ := strict.Object["spec"].(map[string]any)
	spec["group"] = storedGroup
	lax = strict.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(lax.Object, "spec", "versions")
	for i := range versions {
		v, _ := versions[i].(map[string]any)
		v["schema"] = map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		}}
		delete(v, "selectableFields") // They need a schema.
	}
	if err := unstructured.SetNestedSlice(lax.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	return lax, strict
}

// TestStoredGoesOn shows that a PublishedResource which is stored already, and which our definition would refuse, can
// be written all the same as long as what is refused stays as it is: a finalizer, a field of ours and the status.
func TestStoredGoesOn(t *testing.T) {
	c := prepared(t)
	lax, strict := laxly(t)
	kube.Create(t, c, lax)
	defer func() { _ = c.Delete(t.Context(), lax) }()
	stored := map[string]string{
		"kind":       `resource: {apiGroup: a.b, kind: ""}`,
		"identifier": source + `related: [{identifier: "", origin: service, kind: Secret, object: {reference: {path: a}}}]`,
		"object":     source + "related: [{identifier: tls, origin: service, kind: Secret, object: {}}]",
		"no-object":  source + "related: [{identifier: tls, origin: service, kind: Secret}]",
		"step":       source + "mutation: {spec: [{delete: {path: a}, regex: {path: a}}]}",
		"enabled":    source + "synchronization: {}",
	}
	in := func(name, spec string) *unstructured.Unstructured {
		u := published(t, name, spec)
		u.SetAPIVersion(storedGroup + "/v1alpha1")
		return u
	}
	for name, spec := range stored {
		kube.Eventually(t, "PublishedResource "+name+" of the agent", func() (bool, string) {
			err := c.Create(t.Context(), in(name, spec))
			return err == nil, fmt.Sprint(err)
		})
	}
	patch := func(u *unstructured.Unstructured, body string) error {
		return c.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(body)))
	}
	spec, err := yaml.Marshal(map[string]any{"spec": strict.Object["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	if spec, err = yaml.YAMLToJSON(spec); err != nil {
		t.Fatal(err)
	}
	if err := patch(lax, string(spec)); err != nil {
		t.Fatal(err)
	}
	for name, spec := range stored {
		kube.Eventually(t, name+" to be refused", func() (bool, string) {
			err := c.Create(t.Context(), in("new-"+name, spec), client.DryRunAll)
			return err != nil, "it is accepted"
		})
		u := in(name, spec)
		if err := patch(u,
			`{"metadata":{"finalizers":["example.com/ours"]},"spec":{"stateNamespace":"kcp-system"}}`); err != nil {
			t.Errorf("%s: cannot write metadata and spec: %v", name, err)
		}
		body := client.RawPatch(types.MergePatchType, []byte(`{"status":{"resourceSchemaName":"v1.a.b"}}`))
		if err := c.Status().Patch(t.Context(), u, body); err != nil {
			t.Errorf("%s: cannot write status: %v", name, err)
		}
		if err := patch(u, `{"metadata":{"finalizers":null}}`); err != nil {
			t.Errorf("%s: cannot be let go: %v", name, err)
		}
	}
}
