package publishedresource_test

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncShardMissing shows that copies do not go with workspaces whose endpoint is missing for a moment, while
// another one that serves the API shows all bindings it has. That other one is of a second APIExport that offers the
// same, as a kcp of one shard has no two.
func TestSyncShardMissing(t *testing.T) {
	t.Parallel()
	const second = "second.example.com"
	s := newShop(t, exportName)
	s.connect(t, s.agent(t, second))
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.UnboundWorkspaces = xpv2.DeletionDelete })
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	copied := s.copyOf(t, in)

	other := kcp.Export(second)
	other.Spec.Resources = s.export(t).Spec.Resources
	other.Spec.PermissionClaims = s.export(t).Spec.PermissionClaims
	s.create(t, other)
	_, elsewhere := workspaces.Workspace(t)
	kcp.AwaitBound(t, elsewhere, kcp.Bind(t, elsewhere, s.path, second, claims()...))
	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: second} })
	s.awaitEndpoints(t, o, s.endpointOf(t, second))
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	kube.Throughout(t, 3*time.Second, "the copy stays", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 1 && all[0].GetUID() == copied.GetUID() &&
			all[0].GetDeletionTimestamp() == nil, describeAll(all)
	})
	update(t, s.c, o, func() { o.Spec.APIExport = nil })
	s.awaitEndpoints(t, o, s.endpoints(t)...)
	kube.Delete(t, in, s.cert("web"))
	kube.AwaitGone(t, s.c, copied)
}

// endpointOf waits for the endpoint of an APIExport.
func (s *shop) endpointOf(t *testing.T, export string) (url string) {
	t.Helper()
	kube.Eventually(t, "endpoint of "+export, func() (bool, string) {
		slice := &apisv1alpha1.APIExportEndpointSlice{}
		if err := kcp.Client(t, s.admin).Get(t.Context(), types.NamespacedName{Name: export}, slice); err != nil {
			return false, err.Error()
		}
		for _, e := range slice.Status.APIExportEndpoints {
			url = e.URL
		}
		return url != "", "there is none"
	})
	return url
}

// TestSyncLostMeanwhile shows that the copy of an object that was taken by force while nobody looked is deleted,
// although the workspace has no other object.
func TestSyncLostMeanwhile(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	web := s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	kube.Patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":false}}}`)
	s.awaitNoCounts(t, o)
	kube.Patch(t, in, web, `{"metadata":{"finalizers":null}}`)
	kube.Remove(t, in, web)
	kube.Patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":true}}}`)
	kube.AwaitGone(t, s.c, copied)
}
