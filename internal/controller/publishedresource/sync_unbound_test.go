package publishedresource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncUnbound shows that a workspace which unbinds the API, or is deleted, without a claim that tells so, takes
// with it its copies of either scope, their states and related copies, and the namespaces that were made for them; that
// a namespace with anything else in it stays until that is gone; that what cannot be synced is no obstacle; and that
// others are served on.
func TestSyncUnbound(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, vacating)
	d := definition(s.group, "zones")
	d.Spec.Scope = apiextensionsv1.ClusterScoped
	kube.Create(t, s.c, d)
	s.offer(t, s.published("zones", "Zone"), func(z *v1alpha1.PublishedResource) {
		z.Spec.StateNamespace = o.Spec.StateNamespace
	})
	unbinds, bad, goes, stays := s.tenant(t), s.tenant(t), s.tenant(t), s.tenant(t)
	key := secretIn(metav1.NamespaceDefault, "key", "a")
	for _, in := range []tenant{unbinds, bad, goes, stays} {
		name, zone := key.Name, s.object("Zone", "web")
		if in.cluster == bad.cluster {
			name = "no name" // It cannot be synced, ever.
		}
		zone.SetNamespace("")
		kube.Create(t, in, key.DeepCopy(), s.naming("web", name))
		kcp.CreateServed(t, in.cfg, zone)
		s.copyOf(t, in)
		kube.Eventually(t, "the Zone of "+in.path, func() (bool, string) { return s.zones(t, in) == 1, "" })
	}
	awaitCounts(t, s.c, o, 3, 1)
	child, last := secretIn(bad.cluster, "anything", "a"), s.copyOf(t, stays)
	kube.Create(t, s.c, child)

	gone := workspaces.DeleteWorkspace(t, goes.path)
	unbind(t, unbinds)
	unbind(t, bad)
	kube.Eventually(t, "the workspace to be gone", gone)
	for _, in := range []tenant{unbinds, bad, goes} {
		if all := s.copies(t, in); len(all)+s.zones(t, in) != 0 {
			t.Errorf("copies of a workspace that has left: %s, and %d Zones", describeAll(all), s.zones(t, in))
		}
		kube.AwaitGone(t, s.c, secretIn(in.cluster, key.Name, ""))
	}
	if got := finalizersOf(t, unbinds, key); len(got) > 0 {
		t.Errorf("finalizers of the consumer's Secret: %v", got)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return cmp.Equal(*c, v1alpha1.ObjectCounts{Synced: 1})
	})
	s.awaitStates(t, o, 2)
	s.awaitVacated(t, unbinds)
	s.awaitVacated(t, goes)
	ns := &corev1.Namespace{}
	for _, in := range []tenant{bad, stays} {
		kube.Get(t, s.c, types.NamespacedName{Name: in.cluster}, ns)
		if ns.DeletionTimestamp != nil || ns.Labels["tenant"] != in.cluster {
			t.Errorf("want the namespace kept that is not empty, got %v", ns.ObjectMeta)
		}
	}
	kube.Delete(t, s.c, child)
	s.awaitVacated(t, bad)
	kube.Patch(t, stays, s.cert("web"), `{"spec":{"size":"XL"}}`)
	s.awaitCopy(t, last, "synced", func() bool { return last.Object["spec"].(map[string]any)["size"] == "XL" })
}

// zones returns how many copies of Zones a tenant has.
func (s *shop) zones(t *testing.T, in tenant) int {
	t.Helper()
	return len(kube.ListOf(t, s.c, s.group+"/v1", "Zone", client.MatchingLabels{objectsync.LabelCluster: in.cluster}))
}

// awaitVacated waits until the namespace of a workspace's copies is being deleted.
func (s *shop) awaitVacated(t *testing.T, in tenant) {
	t.Helper()
	kube.Eventually(t, "the empty namespace "+in.cluster+" to be deleted", func() (bool, string) {
		ns := &corev1.Namespace{}
		err := s.c.Get(t.Context(), types.NamespacedName{Name: in.cluster}, ns)
		return client.IgnoreNotFound(err) == nil && (err != nil || ns.DeletionTimestamp != nil), "it is there"
	})
}

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
