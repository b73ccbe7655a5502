package kcp

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// accountsNamespace is where ServiceAccounts of tests are.
const accountsNamespace = "default"

// ServiceAccount creates a ServiceAccount with rights in a workspace, and returns the configuration of a user with its
// token. Called again, it returns another token of the same ServiceAccount, whose rights stay as they are.
func ServiceAccount(tb testing.TB, admin *rest.Config, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	tb.Helper()
	c := Client(tb, admin)
	enter := rbacv1.PolicyRule{NonResourceURLs: []string{"/"}, Verbs: []string{"access"}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: accountsNamespace, Name: name}}
	for _, o := range []client.Object{
		sa,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: append(rules, enter)},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: accountsNamespace, Name: name}},
		},
	} {
		if err := c.Create(tb.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			tb.Fatalf("cannot create %T: %v", o, err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(tb.Context(), sa, request); err != nil {
		tb.Fatalf("cannot create token: %v", err)
	}
	cfg := rest.AnonymousClientConfig(admin)
	cfg.QPS = -1
	cfg.BearerToken = request.Status.Token
	return cfg
}

// AgentRules are all the rights that a publisher to an APIExport needs in its workspace.
func AgentRules(export string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{"core.kcp.io"}, Resources: []string{"logicalclusters"},
			ResourceNames: []string{"cluster"}, Verbs: []string{"get"},
		},
		{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexports"}, ResourceNames: []string{export},
			Verbs: []string{"get", "list", "watch", "patch", "update"},
		},
		{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexportendpointslices"},
			ResourceNames: []string{export},
			Verbs:         []string{"get", "list", "watch"},
		},
		{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiresourceschemas"},
			Verbs: []string{"get", "list", "watch", "create"},
		},
		{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexports/content"},
			ResourceNames: []string{export}, Verbs: []string{"*"},
		},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch", "update"}},
	}
}

// CreatorRules are AgentRules for a publisher that also makes the APIExport.
func CreatorRules(export string) []rbacv1.PolicyRule {
	return append(AgentRules(export), rbacv1.PolicyRule{
		APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexports"}, Verbs: []string{"create"},
	})
}
