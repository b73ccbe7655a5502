package rules_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	objectcontroller "github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSideBySide shows that two providers publish to one APIExport, each with its selector and its default
// ProviderConfig, for PublishedResources as api-syncagent has them. Clients that drop what that does not know change
// nothing, and what one provider withdraws is not what the other needs.
func TestSideBySide(t *testing.T) {
	s := newWorldOf(t, &shared, "first", "third")
	s.lead(t, s.admin, "second", exportName)
	for team, config := range map[string]string{"c": "first", "d": "second"} {
		defer s.serve(t, team, func(o *objectcontroller.Options) { o.PublishedResourceConfig = config })()
	}
	const related = `
related:
- identifier: settings
  origin: kcp
  kind: ConfigMap
  object: {reference: {path: spec.part}}`
	crates := s.describe(t, "crates", parts+
		"projection: {plural: crates, kind: Crate}\ndeletionPolicy: Delete"+related, "c")
	boxes := s.describe(t, "boxes", parts+
		"projection: {plural: boxes, kind: Box}"+related, "d")
	named := s.describe(t, "named", "resource: {apiGroup: billing.example.org, kind: Plan}\n"+
		"providerConfigRef: {name: third}"+unsynced, "d")
	for _, pr := range []*unstructured.Unstructured{crates, boxes, named} {
		s.awaitReady(t, pr)
	}
	want := map[string]string{"crates": "first", "boxes": "second", "named": "third"}
	if diff := cmp.Diff(want, s.used(t, "crates", "boxes", "named")); diff != "" {
		t.Errorf("ProviderConfigs: -want, +got:\n%s", diff)
	}

	s.updateAsAgent(t, boxes)
	s.awaitReady(t, boxes)
	if diff := cmp.Diff(want, s.used(t, "crates", "boxes", "named")); diff != "" {
		t.Errorf("ProviderConfigs after a client of api-syncagent: -want, +got:\n%s", diff)
	}

	before := s.export(t)
	kube.Remove(t, s.c, crates)
	after := s.export(t)
	if diff := cmp.Diff(before.Spec.PermissionClaims, after.Spec.PermissionClaims); diff != "" {
		t.Errorf("claims that the other provider needs: -before, +after:\n%s", diff)
	}
	if got := after.Generation - before.Generation; got != 1 || len(after.Spec.Resources) != len(before.Spec.Resources)-1 {
		t.Errorf("want one change that takes one resource away, got %d changes and resources %v", got, after.Spec.Resources)
	}
}

// used returns the ProviderConfigs that PublishedResources use, by their names.
func (s *world) used(t *testing.T, names ...string) map[string]string {
	t.Helper()
	list := &mpcv1alpha1.ProviderConfigUsageList{}
	kube.List(t, s.c, list)
	out := map[string]string{}
	for _, u := range list.Items {
		if slices.Contains(names, u.ResourceReference.Name) {
			out[u.ResourceReference.Name] = u.ProviderConfigReference.Name
		}
	}
	return out
}

// export reads the APIExport that both providers publish to.
func (s *world) export(t *testing.T) *apisv1alpha2.APIExport {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, kcp.Client(t, s.admin), types.NamespacedName{Name: exportName}, e)
	return e
}

// updateAsAgent writes a PublishedResource as a typed client of api-syncagent does: with a change, and without the
// fields that this does not know.
func (s *world) updateAsAgent(t *testing.T, pr *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, "an update of "+pr.GetName(), func() (bool, string) {
		s.read(t, s.c, pr)
		known := map[string]any{"enableWorkspacePaths": true}
		for _, field := range []string{
			"resource", "filter", "naming", "projection", "mutation", "related", "synchronization",
		} {
			if v, ok, _ := unstructured.NestedFieldCopy(pr.Object, "spec", field); ok {
				known[field] = v
			}
		}
		pr.Object["spec"] = known
		err := s.c.Update(t.Context(), pr)
		return err == nil, fmt.Sprint(err)
	})
}
