package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOrphanWithoutCredentials shows that a deleted Object with unreachableTarget: Orphan goes soon although its
// watches go on, when the target does not accept its credentials any more.
func TestOrphanWithoutCredentials(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	tns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(tns, "robot")}
	kube.Create(t, tc, account, administrators(tns,
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: tns, Name: "robot"}))
	cfg := tokenOf(t, tc, account)
	s := build.Namespaced()
	ns, pc := connect(t, c, s, cfg)
	o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
	o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
	kube.Create(t, c, o)
	awaitReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, cfg, tns, apierrors.IsUnauthorized)
	kube.Remove(t, c, o)
	awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "blue"})
}
