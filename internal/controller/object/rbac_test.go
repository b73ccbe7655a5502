package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

// namespaceRights returns what lets a user keep ConfigMaps in one namespace.
func namespaceRights(namespace, who string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	return &rbacv1.Role{ObjectMeta: build.Meta(namespace, who), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: build.Meta(namespace, who),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: who},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
		}
}

// TestRightsInOneNamespace shows that a user who may watch one namespace only is enough, and costs no more than one who
// may watch all: settled Objects make no requests, and drift is reverted by watch. A defect of provider-kubernetes: its
// documents ask for all rights.
func TestRightsInOneNamespace(t *testing.T) {
	const reconciles = 10
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		who := tns + "-guest"
		role, binding := namespaceRights(tns, who)
		kube.Create(t, tc, role, binding)
		ns, pc := connect(t, c, s, target.User(t, who))
		key := types.NamespacedName{Namespace: tns, Name: "settings"}
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
		createReady(t, c, o)

		// Each touch makes a reconcile. The change of the manifest comes last, and is the only one that needs a
		// request.
		audit := target.Audit(t)
		mark := audit.Mark()
		for range reconciles {
			touch(t, c, o)
			passes(t, c, o)
		}
		setManifest(t, c, o, build.ConfigMap(tns, "settings", "color", "red"))
		cm := awaitData(t, tc, key, map[string]string{"color": "red"})
		got := audit.Since(mark).By(who).Count()
		delete(got, "list configmaps") // The stream of all namespaces is tried again after a minute.
		if diff := cmp.Diff(map[string]int{"patch configmaps": 1}, got); diff != "" {
			t.Errorf("requests of %d reconciles: -want, +got:\n%s", reconciles, diff)
		}
		const tries = 1 // See above.
		if watches := audit.Watches(mark).By(who); len(watches) > tries {
			t.Errorf("watches of %d reconciles: want at most %d, got:\n%s", reconciles, tries, watches)
		}

		cm.Data["color"] = "green"
		kube.Update(t, tc, cm)
		awaitData(t, tc, key, map[string]string{"color": "red"})
		kube.Remove(t, c, o)
		kube.AwaitGone(t, tc, cm)
	})
}

// passes waits until the controller has looked at the last change of an Object. It shows in no state, so the conditions
// of a pause tell.
func passes(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	pause(t, c, o)
	unpause(t, c, o)
	awaitCondition(t, c, o, synced)
}

// TestWithdrawnRightsAreReported shows that a settled Object whose user has lost all rights says so when the watch
// breaks off.
func TestWithdrawnRightsAreReported(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		who := tns + "-leaver"
		binding := administrators(tns, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who})
		kube.Create(t, tc, binding)
		proxy, cfg := kube.NewProxy(t, target.User(t, who))
		ns, pc := connect(t, c, s, cfg)
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
		createReady(t, c, o)

		kube.Delete(t, tc, binding)
		awaitDenied(t, target.User(t, who), tns, apierrors.IsForbidden)
		proxy.Cut(0) // A server ends watches after some minutes, and checks rights when they begin.
		awaitCondition(t, c, o, failed(commonv1.ReasonForbidden))

		kube.Create(t, tc, administrators(tns, binding.Subjects...))
		awaitReady(t, c, o)
		kube.Remove(t, c, o)
	})
}

// TestExpiredTokenIsReported shows that a settled Object whose token the target no longer accepts says so when the
// watch breaks off.
func TestExpiredTokenIsReported(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	s := build.Cluster()
	tns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(tns, "robot")}
	kube.Create(t, tc, account, administrators(tns,
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: tns, Name: "robot"}))
	direct := tokenOf(t, tc, account)
	proxy, cfg := kube.NewProxy(t, direct)
	ns, pc := connect(t, c, s, cfg)
	o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
	createReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, direct, tns, apierrors.IsUnauthorized)
	proxy.Cut(0)
	awaitCondition(t, c, o, failed(commonv1.ReasonUnauthorized))

	setKubeconfig(t, c, ns, "credentials", kube.Kubeconfig(t, targetUser(t)))
	awaitReady(t, c, o)
}

// administrators gives a subject all rights.
func administrators(name string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   subjects,
	}
}

// awaitDenied waits until the server has noticed that somebody has no rights any more.
func awaitDenied(t *testing.T, cfg *rest.Config, namespace string, is func(error) bool) {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the server to deny a request", func() (bool, string) {
		err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})
		return is(err), "answer: " + message(err)
	})
}

func message(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}
