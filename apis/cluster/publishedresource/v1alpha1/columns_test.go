package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestColumns shows what kubectl get tells: is it published, is it bound, is it syncing.
func TestColumns(t *testing.T) {
	c := prepared(t)
	u := published(t, "columns", source)
	if err := unstructured.SetNestedField(u.Object, "services", "spec", "providerConfigRef", "name"); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Delete(t.Context(), u) }()
	status := map[string]any{}
	if err := yaml.Unmarshal([]byte(`
apiExport: services
resourceSchemaName: v1.certificates.cert-manager.io
workspaces: {bound: 3}
objects: {synced: 41, failed: 1}
claims: {accepted: 5, total: 6, pending: [{workspace: "root:a", claims: [secrets]}]}
endpoints: [{url: https://kcp.example.com/services/apiexport/a/services}]
conditions:
- {type: SchemaPublished, status: "True", reason: Published, message: short, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: ClaimsAccepted, status: Unknown, reason: NotBound, message: nobody, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: ExportUpdated, status: "True", reason: Offered, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: Unavailable, message: not yet, lastTransitionTime: "2026-01-01T00:00:00Z"}
`), &status); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = status
	if err := c.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	got := server.Columns(t, publishedv1alpha1.GroupVersion.WithResource("publishedresources"),
		types.NamespacedName{Name: "columns"})
	delete(got, "AGE")
	want := map[string]any{
		"Name": "columns", "KIND": "Certificate", "PUBLISHED": "True", "BOUND": float64(3), "OBJECTS": float64(41),
		"FAILED": float64(1),
		"SYNCED": "True", "READY": "False", "PROVIDERCONFIG": "services", "EXPORT": "services",
		"SCHEMA": "v1.certificates.cert-manager.io",
		"REASON": "Unavailable", "MESSAGE": "not yet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
