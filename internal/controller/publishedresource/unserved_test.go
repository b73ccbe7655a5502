package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestUnservedRelated shows that a claim to what another APIExport offers needs its identity, and that a related
// resource needs its API on the service cluster, where its copies go.
func TestUnservedRelated(t *testing.T) {
	t.Parallel()
	s, other := openShop(t), openShop(t)
	other.offerBoats(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.Related = []v1alpha1.RelatedResource{{
		Identifier: "boat", Origin: v1alpha1.OriginKCP, Group: "other.example.com", Version: "v1", Resource: "boats",
		Object: byField("spec.size"),
	}}
	kube.Create(t, s.c, o)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonIdentityHashMissing),
		"identityHash is required")
	kube.Eventually(t, "the identity of the other APIExport", func() (bool, string) {
		return other.export(t).Status.IdentityHash != "", "none"
	})
	update(t, s.c, o, func() { o.Spec.Related[0].IdentityHash = other.export(t).Status.IdentityHash })
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, xpv2.ReasonReconcileError),
		"does not serve other.example.com/v1, Resource=boats: install it, or correct spec.related")
}
