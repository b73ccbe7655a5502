package publishedresource_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestConfigOfPublisher shows that a PublishedResource publishes through the ClusterProviderConfig that it names, with
// the APIExport, the agent name and the verbs of claims that this gives, and is counted among the users of the one it
// refers to.
func TestConfigOfPublisher(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	spec := build.FromSecret(s.config, "kcp")
	spec.KCP = &commonv1.KCPConnection{
		APIExport: &commonv1.APIExport{Name: exportName, ClaimVerbs: commonv1.ClaimVerbsNeeded}, AgentName: "carrier",
	}
	other := build.ClusterConfig(s.config+"-other", spec)
	kube.Create(t, s.c, other)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: other.GetName()}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	if got := s.export(t).GetAnnotations()[v1alpha1.AnnotationKeyAgentName]; got != "carrier" {
		t.Errorf("agent of the APIExport: want that of the ClusterProviderConfig, got %q", got)
	}
	if c := s.export(t).Spec.PermissionClaims; len(c) != 1 || slices.Contains(c[0].Verbs, "*") {
		t.Errorf("claims: want one with the verbs that are needed, got %v", c)
	}
	own := build.ClusterConfig(s.config, spec)
	awaitConfigUsers(t, s.c, other, 1)
	awaitConfigUsers(t, s.c, own, 0)

	update(t, s.c, o, func() {
		o.Spec.ProviderConfigReference, o.Spec.AgentName = &v1alpha1.ConfigReference{Name: s.config}, "carrier"
	})
	awaitConfigUsers(t, s.c, own, 1)
	awaitConfigUsers(t, s.c, other, 0)
	awaitPublished(t, s.c, o)
}

// awaitConfigUsers waits until a ProviderConfig says how many users it has.
func awaitConfigUsers(t *testing.T, c client.Client, pc resource.ProviderConfig, want int64) {
	t.Helper()
	kube.Await(t, c, pc, fmt.Sprintf("%d users of %T %s", want, pc, pc.GetName()), func() (bool, string) {
		return pc.GetUsers() == want, fmt.Sprintf("%d are", pc.GetUsers())
	})
}
