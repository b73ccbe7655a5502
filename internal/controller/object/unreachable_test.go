package object_test

import (
	"fmt"
	"testing"
	"time"

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

// nowhere returns the configuration of a server at an address that is none.
func nowhere(addr string) *rest.Config { return &rest.Config{Host: "https://" + addr} }

// TestRefusedConnection shows what users see of a target that does not listen, and that a good kubeconfig cures it.
func TestRefusedConnection(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "recovery", func() time.Duration {
			tns := target.Namespace(t)
			ns, pc := connect(t, c, s, nowhere(kube.Refused(t)))
			o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings"))
			kube.Create(t, c, o)
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable), "connection refused")
			setKubeconfig(t, c, ns, "credentials", kube.Kubeconfig(t, targetUser(t)))
			healed := time.Now()
			awaitReady(t, c, o)
			return time.Since(healed)
		})
	})
}

// TestTargetRestarts shows that an Object of a target that goes down says so, and is kept again when the target is
// back.
func TestTargetRestarts(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "recovery", func() time.Duration {
			tns := target.Namespace(t)
			ns, pc := connect(t, c, s, targetUser(t))
			o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
			createReady(t, c, o)

			target.Stop(t)
			setManifest(t, c, o, build.ConfigMap(tns, "settings", "color", "red"))
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
			target.Restart(t)
			back := time.Now()
			awaitReady(t, c, o)
			took := time.Since(back)
			key := types.NamespacedName{Namespace: tns, Name: "settings"}
			cm := awaitData(t, target.Client(t), key, map[string]string{"color": "red"})

			// The watch is back too.
			cm.Data["color"] = "green"
			kube.Update(t, target.Client(t), cm)
			awaitData(t, target.Client(t), key, map[string]string{"color": "red"})
			return took
		})
	})
}

// TestDeadTargetDelaysNoOther shows that 300 Objects of a server which never answers do not keep 20 Objects of another
// from being ready.
func TestDeadTargetDelaysNoOther(t *testing.T) {
	const dead, living, within = 300, 20, 10 * time.Second
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "living Objects beside those of a dead target", func() time.Duration {
			tns := target.Namespace(t)
			dns, dpc := connect(t, c, s, nowhere(kube.BlackHole(t)))
			ns, pc := connect(t, c, s, targetUser(t))
			objs := make([]build.Object, 0, dead)
			for i := range dead {
				o := s.Object(dns, fmt.Sprintf("%s-dead-%d", tns, i), dpc,
					build.ConfigMap(tns, fmt.Sprintf("dead-%d", i)))
				kube.Create(t, c, o)
				objs = append(objs, o)
			}
			began := time.Now()
			for i := range living {
				kube.Create(t, c, s.Object(ns, fmt.Sprintf("%s-%d", tns, i), pc,
					build.ConfigMap(tns, fmt.Sprintf("living-%d", i))))
			}
			for i := range living {
				awaitReady(t, c, s.Object(ns, fmt.Sprintf("%s-%d", tns, i), pc, nil))
			}
			took := time.Since(began)
			for _, o := range objs {
				awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
				kube.Patch(t, c, o, `{"metadata":{"finalizers":null}}`)
				if err := client.IgnoreNotFound(c.Delete(t.Context(), o)); err != nil {
					t.Fatal(err)
				}
			}
			return took
		})
	})
}

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
	createReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, cfg, tns, apierrors.IsUnauthorized)
	kube.Remove(t, c, o)
	awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "blue"})
}
