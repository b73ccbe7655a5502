package examples

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manifestOf returns the manifest that an Object would create as it stands, with the name it would have. It is nil for
// anything else: what is only observed need not be whole, and what references complete is not.
func manifestOf(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u.GetKind() != "Object" || !creates(u) {
		return nil
	}
	if refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "references"); len(refs) > 0 {
		return nil
	}
	content, _, _ := unstructured.NestedMap(u.Object, "spec", "forProvider", "manifest")
	m := &unstructured.Unstructured{Object: content}
	if m.GetName() == "" {
		m.SetName(u.GetName())
	}
	return m
}

// creates reports whether an Object may create its resource.
func creates(u *unstructured.Unstructured) bool {
	word, _, _ := unstructured.NestedString(u.Object, "spec", "managementPolicy")
	actions, found, _ := unstructured.NestedStringSlice(u.Object, "spec", "managementPolicies")
	if word == "Observe" || word == "ObserveDelete" {
		return false
	}
	return !found || slices.Contains(actions, "*") || slices.Contains(actions, "Create")
}

// acceptManifest asks the server whether it would create the manifest of an Object.
func acceptManifest(t *testing.T, c client.Client, u *unstructured.Unstructured) {
	t.Helper()
	m := manifestOf(u)
	if m == nil || foreign[m.GroupVersionKind().Group] {
		return
	}
	ensureNamespace(t, c, m.GetNamespace())
	err := c.Create(t.Context(), m, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Errorf("a target refuses the manifest of Object %q, %s %q: %v", u.GetName(), m.GetKind(), m.GetName(), err)
	}
}
