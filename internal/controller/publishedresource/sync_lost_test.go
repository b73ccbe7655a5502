package publishedresource_test

import (
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
