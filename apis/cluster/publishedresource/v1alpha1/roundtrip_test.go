package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestGuide shows that what guides of api-syncagent have shown through the years is accepted as it is, and kept so when
// it is written back.
func TestGuide(t *testing.T) {
	c := prepared(t)
	files, err := filepath.Glob(filepath.Join("testdata", "guide", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			content, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			u := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
				t.Fatal(err)
			}
			written := u.DeepCopy().Object["spec"].(map[string]any)
			if err := c.Create(t.Context(), u, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Delete(t.Context(), u) }()
			pr := &publishedv1alpha1.PublishedResource{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
				t.Fatal(err)
			}
			if err := c.Update(t.Context(), pr); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				t.Fatal(err)
			}
			got := u.Object["spec"].(map[string]any)
			for _, added := range []string{
				"providerConfigRef", "managementPolicies", "deletionPolicy", "stateNamespace",
				"existingObjects", "schemaUpdates",
			} {
				delete(got, added)
			}
			if diff := cmp.Diff(written, got); diff != "" {
				t.Errorf("spec: -written, +read:\n%s", diff)
			}
		})
	}
}

// TestKeepsEmptyLists shows that a typed client does not lose the difference between an empty list and none.
func TestKeepsEmptyLists(t *testing.T) {
	c := prepared(t)
	u := published(t, "lists", projection("shortNames: []"))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Delete(t.Context(), u) }()
	pr := &publishedv1alpha1.PublishedResource{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
		t.Fatal(err)
	}
	pr.SetLabels(map[string]string{"a": "b"})
	if err := c.Update(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(u.Object, "spec", "projection")
	if diff := cmp.Diff(map[string]any{"shortNames": []any{}}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestDefaults shows what the server adds.
func TestDefaults(t *testing.T) {
	c := prepared(t)
	u := published(t, "defaults", source)
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Delete(t.Context(), u) }()
	pr := &publishedv1alpha1.PublishedResource{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
		t.Fatal(err)
	}
	want := publishedv1alpha1.PublishedResourceSpec{
		ManagementPolicies: xpv2.ManagementPolicies{"*"},
		DeletionPolicy:     xpv2.DeletionOrphan,
		ExistingObjects:    publishedv1alpha1.ExistingObjectsAdoptIfExclusive,
		SchemaUpdates:      publishedv1alpha1.SchemaUpdatesAll,
		Resource:           publishedv1alpha1.SourceResource{APIGroup: "cert-manager.io", Kind: "Certificate"},
	}
	if diff := cmp.Diff(want, pr.Spec); diff != "" {
		t.Errorf("spec: -want, +got:\n%s", diff)
	}
}
