package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestWorkspaceGoes shows that a workspace which is deleted can go, although the policy is to make an APIExport that is
// missing: kcp deletes what is in it, and waits until all is gone. An object that somebody else holds there keeps it
// long enough to say so.
func TestWorkspaceGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	ns := local.Namespace(t)
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, s.admin)))
	setConfig(t, s.c, s.config, ns,
		&commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName, Create: new(true)}})
	awaitPublished(t, s.c, o)
	held := kcp.Schema(boats, "other.example.com", "boats", "Boat")
	held.SetFinalizers([]string{"example.org/held"})
	s.create(t, held)

	gone := workspaces.DeleteWorkspace(t, s.path)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonWorkspaceDeleted))
	kube.Eventually(t, "the held schema to be let go", func() (bool, string) {
		err := kcp.Client(t, s.admin).Patch(t.Context(), held,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		return client.IgnoreNotFound(err) == nil, "it is not"
	})
	kube.Eventually(t, "the workspace to be gone", gone)
}
