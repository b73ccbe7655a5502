package object_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOrphanWithoutCredentials shows that a deleted Object with unreachableTarget: Orphan goes soon although its
// watches go on, when the target does not accept its credentials any more.
func TestOrphanWithoutCredentials(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	tns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(tns, "provider")}
	create(t, tc, account, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", tns),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tns, Name: "provider"}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := tc.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(target.Config())
	cfg.BearerToken = token.Status.Token
	s := build.Namespaced()
	ns, pc := connect(t, c, s, cfg)
	o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
	o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
	create(t, c, o)
	awaitReady(t, c, o)

	remove(t, tc, account)
	tenant, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the token to be refused", func() (bool, string) {
		err := tenant.Get(t.Context(), types.NamespacedName{Namespace: tns, Name: "settings"}, &corev1.ConfigMap{})
		return apierrors.IsUnauthorized(err), message(err)
	})
	remove(t, c, o)
	awaitGone(t, c, o)
	awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "blue"})
}
