package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestAggregatedRules shows that the rules of a ClusterRole which the target aggregates stay although the manifest has
// an empty list of them, also after a change of the manifest, and that drift of other fields is reverted.
func TestAggregatedRules(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		manifest := func(text string) build.Manifest {
			m := parse(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",`+text+`}`)
			m.SetName(w.target)
			return build.Manifest(m.Object)
		}
		const empty = `"rules":[],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"`
		o := w.keep(t, manifest(empty+`view"}}]}`))
		applyAs(t, w.tc, manifest(`"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`),
			"clusterrole-aggregation-controller")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.target}}
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}
		stay := func(to string) {
			t.Helper()
			kube.Await(t, w.tc, role, "the aggregation to "+to, func() (bool, string) {
				got := role.AggregationRule.ClusterRoleSelectors[0].MatchLabels["to"]
				return got == to, got
			})
			awaitReady(t, c, o)
			staysUnwritten(t, c, o)
			w.asksNothing(t, o)
			kube.Get(t, w.tc, client.ObjectKeyFromObject(role), role)
			if diff := cmp.Diff(rules, role.Rules); diff != "" {
				t.Errorf("rules: -want, +got:\n%s", diff)
			}
		}
		stay("view")
		kube.Patch(t, w.tc, role, `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"other"}}]}}`)
		stay("view")
		setManifest(t, c, o, manifest(empty+`edit"}}]}`))
		stay("edit")
		kube.Remove(t, c, o)
	})
}
