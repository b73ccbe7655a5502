package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncAgentStays shows that a new agentName is reported once objects have been synced, and that these and new ones
// stay those of the former.
func TestSyncAgentStays(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	web := s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	was := copied.GetLabels()[v1alpha1.LabelKeyAgentName]
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 })
	update(t, s.c, o, func() { o.Spec.AgentName = "another" })
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonInvalidSpec))
	s.issue(t, copied, "theirs")
	awaitIssued(t, in, web, "theirs")
	kube.Create(t, in, s.cert("new"))
	if got := s.copyNamed(t, in, "new").GetLabels()[v1alpha1.LabelKeyAgentName]; got != was {
		t.Errorf("want the owner to stay %q, got %q", was, got)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 2 && c.Failed == 0 })
	update(t, s.c, o, func() { o.Spec.AgentName = "" })
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
}
