package publishedresource_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
)

// TestWithdrawWithoutEndpoint shows that an API is not withdrawn because kcp names no endpoint, or has no endpoint
// slice, while consumers have objects: those could not be reached any more. The slice without endpoints is that of a
// second APIExport, which nobody has bound.
func TestWithdrawWithoutEndpoint(t *testing.T) {
	t.Parallel()
	const second, missing = "second.example.com", "missing.example.com"
	for name, tc := range map[string]struct {
		slice  string
		waits  wantCondition
		reason string
	}{
		"NoEndpoint": {slice: second, waits: isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft), reason: "1: 1 in "},
		"NoSlice": {
			slice:  missing,
			waits:  isNot(xpv2.TypeSynced, xpv2.ReasonReconcileError),
			reason: "does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shop{c: provide(t)}
			s.path, s.admin = workspaces.Workspace(t)
			for _, export := range []string{exportName, second} {
				s.create(t, &apisv1alpha2.APIExport{ObjectMeta: metav1.ObjectMeta{Name: export}})
			}
			rules := slices.Concat(kcp.AgentRules(exportName), kcp.AgentRules(second), kcp.AgentRules(missing))
			s.connect(t, kcp.ServiceAccount(t, s.admin, "agent", rules...))
			o := s.publishHats(t)
			update(t, s.c, o, func() { o.Spec.DeletionPolicy = xpv2.DeletionDelete })
			_, consumer := workspaces.Workspace(t)
			kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, s.path, exportName))
			createServed(t, consumer, s.object("Hat", "bowler"))
			await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))

			update(t, s.c, o, func() {
				o.Spec.APIExport = &commonv1.APIExport{
					Name: exportName, EndpointSlice: tc.slice,
				}
			})
			s.awaitEndpoints(t, o)
			if err := s.c.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			awaitMessage(t, s.c, o, tc.waits, tc.reason)
			if schemaOf(s.export(t), "hats") == "" {
				t.Error("the API must not be withdrawn while consumers have objects")
			}
			if err := kcp.Client(t, consumer).Delete(t.Context(), s.object("Hat", "bowler")); err != nil {
				t.Fatal(err)
			}
			if tc.slice == missing {
				update(t, s.c, o, func() { o.Spec.APIExport = nil })
			}
			awaitGone(t, s.c, o)
			if got := schemaOf(s.export(t), "hats"); got != "" {
				t.Errorf("want the API withdrawn, it is offered by %s", got)
			}
		})
	}
}
