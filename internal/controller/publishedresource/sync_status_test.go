package publishedresource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncNullsAndNoStatus shows that nulls that are set later pass kcp both ways, and that an object in kcp has no
// status as soon as a new copy of it is there.
func TestSyncNullsAndNoStatus(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "certs", "secretName")
	all := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	all["spec"].Properties["limit"] = apiextensionsv1.JSONSchemaProps{
		Type: "integer", Nullable: true, Default: &apiextensionsv1.JSON{Raw: []byte("5")},
	}
	free := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	all["spec"].Properties["values"], all["status"] = free, free
	kube.Create(t, s.c, d)
	s.offer(t, s.publishedCerts(local.Namespace(t)), func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in, web := s.tenant(t), s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	spec := map[string]any{"limit": nil, "values": map[string]any{"first": nil, "in": map[string]any{"x": nil}}}
	status := map[string]any{"phase": nil, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	update(t, in, web, func() { web.Object["spec"] = spec })
	kube.Await(t, s.c, copied, "nulls in the copy", func() (bool, string) {
		diff := cmp.Diff(spec, copied.Object["spec"])
		return diff == "", diff
	})
	copied.Object["status"] = status
	if err := s.c.Status().Update(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	kube.Await(t, in, web, "nulls in the status", func() (bool, string) {
		diff := cmp.Diff(status, web.Object["status"])
		return diff == "", diff
	})
	was := copied.GetUID()
	kube.Delete(t, s.c, copied)
	kube.Await(t, s.c, copied, "a new copy", func() (bool, string) { return copied.GetUID() != was, "" })
	kube.Get(t, in, client.ObjectKeyFromObject(web), web)
	if web.Object["status"] != nil {
		t.Errorf("want no status with a new copy, got %v", web.Object["status"])
	}
	if diff := cmp.Diff(spec, copied.Object["spec"]); diff != "" {
		t.Errorf("a new copy is another one: -want, +got:\n%s", diff)
	}
}
