package publishedresource_test

import (
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// sliceElsewhere is an APIExportEndpointSlice in another workspace than its APIExport.
const sliceElsewhere = "elsewhere"

// openShopBySlice makes a workspace with an APIExport, and another one with an APIExportEndpointSlice of it, to which
// the ProviderConfig leads. That workspace has an APIExport of the same name, which it returns.
func openShopBySlice(t *testing.T, k *commonv1.KCPConnection) (s shop, namesake func() *apisv1alpha2.APIExport) {
	t.Helper()
	s = openShop(t)
	_, admin := workspaces.Workspace(t)
	c := kcp.Client(t, admin)
	slice := &apisv1alpha1.APIExportEndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: sliceElsewhere}}
	slice.Spec.APIExport = apisv1alpha1.ExportBindingReference{Path: s.path, Name: exportName}
	kube.Create(t, c, kcp.Export(exportName), slice)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, admin))
	setConfig(t, s.c, s.config, s.config, k)
	return s, func() *apisv1alpha2.APIExport {
		e := &apisv1alpha2.APIExport{}
		kube.Get(t, c, types.NamespacedName{Name: exportName}, e)
		return e
	}
}

// TestSliceElsewhere shows that an API is published by the APIExport that an APIExportEndpointSlice names, in the
// workspace that it names, and withdrawn there, and that consumers' objects are synced.
func TestSliceElsewhere(t *testing.T) {
	t.Parallel()
	s, namesake := openShopBySlice(t,
		&commonv1.KCPConnection{APIExport: &commonv1.APIExport{EndpointSlice: sliceElsewhere}})
	o := s.publishHats(t)
	if name := schemaOf(s.export(t), "hats"); name == "" {
		t.Errorf("the APIExport of the slice: want it to offer hats, got %v", s.export(t).Spec.Resources)
	}
	s.binder(t)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))

	update(t, s.c, o, func() { o.SetDeletionPolicy(xpv2.DeletionDelete) })
	kube.Delete(t, s.c, o)
	kube.Eventually(t, "withdrawal", func() (bool, string) {
		left := s.export(t).Spec.Resources
		return len(left) == 0, fmt.Sprint(left)
	})
	if got := namesake(); len(got.Spec.Resources)+len(got.Spec.PermissionClaims) > 0 {
		t.Errorf("the APIExport of the same name beside the slice: want it untouched, got %v", got.Spec)
	}
}

// TestSliceContradicts shows that nothing is published where the spec says both an APIExport of the workspace of the
// ProviderConfig and an APIExportEndpointSlice of an APIExport in another one.
func TestSliceContradicts(t *testing.T) {
	t.Parallel()
	s, namesake := openShopBySlice(t,
		&commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName, EndpointSlice: sliceElsewhere}})
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	kube.Create(t, s.c, o)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonInvalidSpec), s.path)
	for where, e := range map[string]*apisv1alpha2.APIExport{
		"of the slice": s.export(t), "beside the slice": namesake(),
	} {
		if len(e.Spec.Resources) > 0 {
			t.Errorf("the APIExport %s: want it untouched, got %v", where, e.Spec.Resources)
		}
	}
}

// TestReconcilesOpenNoWatch shows that a PublishedResource that names only the APIExportEndpointSlice keeps its watches
// from one reconcile to the next.
func TestReconcilesOpenNoWatch(t *testing.T) {
	t.Parallel()
	const reconciles, account = 10, "reconciler"
	s := openShop(t)
	agent := kcp.ServiceAccount(t, s.admin, account, kcp.AgentRules(exportName)...)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, agent))
	setConfig(t, s.c, s.config, s.config,
		&commonv1.KCPConnection{APIExport: &commonv1.APIExport{EndpointSlice: exportName}})
	o := s.publishHats(t)
	audit := kube.AuditOf(t, workspaces.AuditLog())
	user := "system:serviceaccount:default:" + account
	if begun := audit.Watches(kube.Mark{}).By(user); len(begun) == 0 {
		t.Fatalf("no watch of %s is in the audit log", user)
	}
	before := audit.Mark()
	for i := range reconciles {
		update(t, s.c, o, func() { o.Spec.Synchronization = &v1alpha1.Synchronization{Enabled: i%2 == 0} })
		awaitReconciled(t, s.c, o)
	}
	for what, n := range audit.Watches(before).By(user).Count() {
		if what == "watch apiexports.apis.kcp.io" || what == "watch apiexportendpointslices.apis.kcp.io" ||
			what == "watch apiresourceschemas.apis.kcp.io" {
			t.Errorf("%d reconciles: want no watch begun, got %d of %q", reconciles, n, what)
		}
	}
}

// awaitReconciled waits until the last change of a spec has been reconciled.
func awaitReconciled(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Await(t, c, o, "reconcile of "+o.GetName(), func() (bool, string) {
		return o.GetCondition(xpv2.TypeSynced).ObservedGeneration == o.GetGeneration(), describe(o)
	})
}
