package publishedresource_test

import (
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncRelatedKind shows that related objects can be of a kind that the same APIExport offers, whose own
// PublishedResource syncs nothing, and which is not bound in the workspace of the APIExport, and that their status is
// synced once it has become a subresource.
func TestSyncRelatedKind(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "hats")
	status := d.Spec.Versions[0].Subresources
	d.Spec.Versions[0].Subresources = nil
	kube.Create(t, s.c, d)
	hats := s.published("hats", "Hat")
	hats.Spec.Synchronization = &v1alpha1.Synchronization{}
	kube.Create(t, s.c, hats)
	awaitPublished(t, s.c, hats)
	s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Related = []v1alpha1.RelatedResource{{
			Identifier: "hat", Origin: v1alpha1.OriginKCP, Group: s.group, Version: "v1", Resource: "hats",
			Object: byField("metadata.name"), SyncStatus: true,
		}}
		o.Spec.Naming = &v1alpha1.ResourceNaming{Name: "{{ .ClusterName }}-{{ .Object.metadata.name }}"}
	})
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	createServed(t, in.cfg, s.object("Hat", "web"))
	copied := s.copyOf(t, in)
	hat := s.object("Hat", copied.GetName())
	hat.SetNamespace(copied.GetNamespace())
	kube.Eventually(t, "the hat below", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(hat), hat)
		return err == nil, fmt.Sprint(err)
	})
	if hat.GetLabels()[objectsync.LabelRelatedCluster] != in.cluster {
		t.Errorf("want the copy to say whose it is, got %v %v", hat.GetLabels(), hat.GetAnnotations())
	}
	kube.Patch(t, in, s.object("Hat", "web"), `{"spec":{"size":"XS"}}`)
	kube.Await(t, s.c, hat, "the new size below", func() (bool, string) {
		size, _, _ := unstructured.NestedString(hat.Object, "spec", "size")
		return size == "XS", size
	})
	redefine(t, s.c, "hats."+s.group,
		func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Subresources = status })
	kube.Eventually(t, "the status below", func() (bool, string) {
		worn := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Worn"}}`))
		if err := in.Status().Patch(t.Context(), s.object("Hat", "web"), worn); err != nil {
			return false, err.Error()
		}
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(hat), hat)
		return err == nil && hat.Object["status"] != nil, fmt.Sprint(hat.Object["status"])
	})
	kube.Delete(t, in, s.cert("web"))
	kube.AwaitGone(t, s.c, hat)
	kube.AwaitGone(t, s.c, copied)
}

// TestSyncRelatedVersionLater shows that objects are synced as soon as they can be, if their synchronization could not
// begin: for a version of a related resource that comes later.
func TestSyncRelatedVersionLater(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	hats := s.published("hats", "Hat")
	hats.Spec.Synchronization = &v1alpha1.Synchronization{}
	kube.Create(t, s.c, hats)
	awaitPublished(t, s.c, hats)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Related = []v1alpha1.RelatedResource{{
			Identifier: "hat", Origin: v1alpha1.OriginKCP, Group: s.group, Version: "v2", Resource: "hats",
			Object: byField("metadata.name"),
		}}
	})
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, ""), `cannot sync related resource "hat"`)
	redefine(t, s.c, "hats."+s.group, func(d *apiextensionsv1.CustomResourceDefinition) {
		v := *d.Spec.Versions[0].DeepCopy()
		v.Name, v.Storage = "v2", false
		d.Spec.Versions = append(d.Spec.Versions, v)
	})
	s.copyOf(t, in)
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
}
