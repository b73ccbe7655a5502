package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
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
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s)
		role, binding := namespaceRights(w.target, w.user)
		kube.Create(t, tc, role, binding)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))

		// The change of the manifest comes last, and is the only one that needs a request.
		audit := target.Audit(t)
		mark := audit.Mark()
		staysUnwritten(t, c, o)
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		cm := w.awaitData(t, "settings", "color", "red")
		got := audit.Since(mark).By(w.user).Count()
		delete(got, "list configmaps") // The stream of all namespaces is tried again after a minute.
		if diff := cmp.Diff(map[string]int{"patch configmaps": 1}, got); diff != "" {
			t.Errorf("requests: -want, +got:\n%s", diff)
		}
		if watches := audit.Watches(mark).By(w.user); len(watches) > 1 { // See above.
			t.Errorf("watches: want at most one, got:\n%s", watches)
		}

		kube.Patch(t, tc, cm, `{"data":{"color":"green"}}`)
		w.awaitData(t, "settings", "color", "red")
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

// TestRefusalIsReported shows that a settled Object whose user has lost all rights, or whose token the target no longer
// accepts, says so when the watch breaks off.
func TestRefusalIsReported(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for name, x := range map[string]struct {
		denied func(error) bool
		want   xpv2.ConditionReason
	}{
		"Rights": {denied: apierrors.IsForbidden, want: commonv1.ReasonForbidden},
		"Token":  {denied: apierrors.IsUnauthorized, want: commonv1.ReasonUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				account, cfg := robot(t, tc)
				proxy, through := kube.NewProxy(t, cfg)
				w := newWorldOf(t, c, s, through)
				o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))

				if name == "Token" {
					kube.Delete(t, tc, account)
				} else {
					kube.Delete(t, tc, administrators(account.GetNamespace()))
				}
				awaitDenied(t, cfg, w.target, x.denied)
				proxy.Cut(0) // A server ends watches after some minutes, and checks rights when they begin.
				awaitCondition(t, c, o, failed(x.want))

				setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, targetUser(t)))
				awaitReady(t, c, o)
			})
		})
	}
}

// administrators gives a subject all rights.
func administrators(name string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   subjects,
	}
}

// robot makes a ServiceAccount on the target, in a namespace of its own, which has all rights by a binding of the
// namespace's name, and returns a connection by its token.
func robot(t *testing.T, tc client.Client) (*corev1.ServiceAccount, *rest.Config) {
	t.Helper()
	ns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(ns, "robot")}
	kube.Create(t, tc, account,
		administrators(ns, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "robot"}))
	return account, tokenOf(t, tc, account)
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
