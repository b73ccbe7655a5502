package workspace_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestMissingWorkspace shows that an Object for a workspace that does not exist says so, and is kept when its
// ProviderConfig names another.
func TestMissingWorkspace(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns := local.Namespace(t)
			spec := build.FromSecret(ns, "kcp")
			spec.KCP = &commonv1.KCPConnection{WorkspacePath: "root:none-such"}
			pc := s.Config(ns, ns, spec)
			o := s.Object(ns, ns, ns, build.ConfigMap("default", "settings"))
			kubeconfig := map[string][]byte{"kubeconfig": kube.Kubeconfig(t, workspaces.Config("root"))}
			for _, obj := range []client.Object{
				&corev1.Secret{ObjectMeta: build.Meta(ns, "kcp"), Data: kubeconfig}, pc, o,
			} {
				kube.Create(t, c, obj)
			}
			kube.Await(t, c, o, "the Object to say that there is no such workspace", func() (bool, string) {
				message := o.GetCondition(xpv2.TypeSynced).Message
				return strings.Contains(message, `workspaces.tenancy.kcp.io "root:none-such" not found`),
					message
			})
			path, _ := workspaces.Workspace(t)
			body := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"kcp":{"workspacePath":"`+path+`"}}}`))
			if err := c.Patch(t.Context(), pc, body); err != nil {
				t.Fatal(err)
			}
			provider.AwaitReady(t, c, o)
		})
	}
}
