package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// publishLimited publishes Certs of a service cluster where the provider is a user that may read definitions, and keep
// namespaces, Secrets and what rules allow. It returns the role of that user, which has its name.
func (s *shop) publishLimited(
	t *testing.T, user string, rules ...rbacv1.PolicyRule,
) (*v1alpha1.PublishedResource, *rbacv1.ClusterRole) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: append([]rbacv1.PolicyRule{
		{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			Verbs: []string{"get", "list", "watch"},
		},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets"}, Verbs: []string{"*"}},
	}, rules...)}
	kube.Create(t, s.c, role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
	elsewhere := s.serviceCluster(t, local.User(t, user))
	return s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.ServiceClusterConfigReference, o.Spec.Related = &v1alpha1.ConfigReference{Name: elsewhere}, nil
	}), role
}

// keepCerts allows to do something with Certs.
func (s *shop) keepCerts(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{s.group}, Resources: []string{"certs"}, Verbs: verbs}
}

// TestSyncRightsCome shows that objects which the provider has no right to copy are copied soon after it gets the
// right, although the service cluster tells nobody. TestProbe of package publication shows how seldom they are tried
// until then.
func TestSyncRightsCome(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	limited := s.config + "-limited"
	o, role := s.publishLimited(t, limited, s.keepCerts("get", "list", "watch"))
	one, two := s.tenant(t), s.tenant(t)
	for _, name := range []string{"a", "b", "c"} {
		kube.Create(t, one, s.cert(name))
		kube.Create(t, two, s.cert(name))
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 6 })
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced))
	role.Rules[2].Verbs = []string{"*"}
	kube.Update(t, s.c, role)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 6 && c.Failed == 0 })
}
