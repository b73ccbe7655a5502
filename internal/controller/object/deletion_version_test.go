package object_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDeletionAfterVersionIsGone shows that a resource is deleted through another version when the one it was applied
// in is not served any more.
func TestDeletionAfterVersionIsGone(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		group := tns + ".example.org"
		ns, pc := connect(t, c, s, targetUser(t))
		crd := gadgets(group)
		second := crd.Spec.Versions[0]
		second.Name, second.Storage = "v2", false
		crd.Spec.Versions = append(crd.Spec.Versions, second)
		kube.Create(t, tc, crd)
		o := s.Object(ns, tns, pc, build.Manifest{
			"apiVersion": group + "/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "gadget", "namespace": tns},
		})
		kube.Create(t, c, o)
		awaitReady(t, c, o)

		serve(t, tc, crd, "v2")
		gadget := &unstructured.Unstructured{}
		gadget.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Gadget"})
		gadget.SetNamespace(tns)
		gadget.SetName("gadget")
		kube.Eventually(t, "version v1 not to be served", func() (bool, string) {
			err := tc.Get(t.Context(), client.ObjectKeyFromObject(gadget), gadget.DeepCopy())
			return err != nil, "it is"
		})
		kube.Remove(t, c, o)
		gadget.SetAPIVersion(group + "/v2")
		if err := tc.Get(t.Context(), client.ObjectKeyFromObject(gadget), gadget); client.IgnoreNotFound(err) != nil ||
			err == nil {
			t.Errorf("the resource must be gone before its Object is: %v", err)
		}
	})
}

// serve makes a CustomResourceDefinition serve and store one of its versions only.
func serve(t *testing.T, tc client.Client, crd *apiextensionsv1.CustomResourceDefinition, version string) {
	t.Helper()
	edit(t, tc, crd, func() {
		for i, v := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served, crd.Spec.Versions[i].Storage = v.Name == version, v.Name == version
		}
	})
}
