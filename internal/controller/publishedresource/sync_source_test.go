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
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncSourceBecomesAnother shows that a change of the CRD by which objects are synced otherwise, as their status
// becomes a subresource, takes effect on those that are there, and that nothing of how they were synced before goes on,
// as is seen when the synchronization is turned off.
func TestSyncSourceBecomesAnother(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "certs")
	status := d.Spec.Versions[0].Subresources
	d.Spec.Versions[0].Subresources = nil
	kube.Create(t, s.c, d)
	o := s.published("certs", "Cert")
	o.Spec.StateNamespace = local.Namespace(t)
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	in := s.tenant(t)
	web := s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	redefine(t, s.c, "certs."+s.group,
		func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Subresources = status })
	kube.Eventually(t, "the status above", func() (bool, string) {
		issued := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Issued"}}`))
		if err := s.c.Status().Patch(t.Context(), copied, issued); err != nil {
			return false, err.Error() // It is not served yet.
		}
		err := in.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		phase, _, _ := unstructured.NestedString(web.Object, "status", "phase")
		return err == nil && phase == "Issued", fmt.Sprint(err, phase)
	})
	update(t, s.c, o, func() { o.Spec.Synchronization = &v1alpha1.Synchronization{} })
	s.wantHalted(t, o, in, s.cert("late"))
}

// TestSyncSourceGoes shows that no object counts as synced while the CustomResourceDefinition is gone, with which its
// copy goes, that this is reported and nothing is withdrawn, and that all goes on when it is back.
func TestSyncSourceGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	s.copyOf(t, in)
	counts := func(synced, failed int64) {
		t.Helper()
		kube.Await(t, s.c, o, "counts of objects", func() (bool, string) {
			c := o.Status.Objects
			return c != nil && c.Synced == synced && c.Failed == failed, fmt.Sprint(c)
		})
	}
	counts(1, 0)
	before := s.export(t)
	d := definition(s.group, "certs", "secretName", "keyName", "note")
	kube.Delete(t, s.c, d.DeepCopy())
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonSourceMissing))
	await(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonSourceMissing), isNot(xpv2.TypeReady, ""))
	if after := s.export(t); after.ResourceVersion != before.ResourceVersion {
		t.Error("the APIExport must stay as it is while the source is missing")
	}
	counts(0, 1)
	kube.AwaitGone(t, s.c, d.DeepCopy())
	kube.Create(t, s.c, d)
	counts(1, 0)
	s.copyOf(t, in)
}
