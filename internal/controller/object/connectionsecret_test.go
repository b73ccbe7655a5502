package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func unstructuredOf(m build.Manifest) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(m)}
}

// TestConnectionSecretOfOthers shows that a Secret which is not the Object's is left alone, and that the Object says
// whose it is.
func TestConnectionSecretOfOthers(t *testing.T) {
	t.Parallel()
	controller := true
	owner := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "0b1c", Controller: &controller,
	}
	for name, tc := range map[string]struct {
		reason string
		secret corev1.Secret
		want   string
	}{
		"Controlled": {
			reason: "A Secret that somebody controls is theirs.",
			secret: corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}},
				Type:       "connection.crossplane.io/v1alpha1",
			},
			want: `is controlled by Deployment "web"`,
		},
		"Opaque": {
			reason: "A Secret of another type is somebody's.",
			secret: corev1.Secret{Type: corev1.SecretTypeOpaque},
			want:   `exists, has type "Opaque" and no controller`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				p := publish(t, s, from("v1", "ConfigMap", "settings", "data.color", "color"))
				theirs := tc.secret.DeepCopy()
				theirs.Namespace, theirs.Name = p.secret.Namespace, p.secret.Name
				theirs.Data = map[string][]byte{"theirs": []byte("x")}
				kube.Create(t, p.c, theirs, p.object)
				want := "cannot create or update connection secret: cannot create object: Secret " + p.secret.String() +
					" " + tc.want
				if got := awaitCondition(t, p.c, p.object, failed(xpv2.ReasonReconcileError), want); got != want {
					t.Errorf("%s\nmessage of condition Synced: want %q, got %q", tc.reason, want, got)
				}
				staysUnwritten(t, p.c, p.object)
				p.awaitPublished(t, map[string]string{"theirs": "x"})

				kube.Delete(t, p.c, theirs)
				awaitReady(t, p.c, p.object)
				p.awaitPublished(t, map[string]string{"color": "blue"})
			})
		})
	}
}

// TestConnectionSecretIsAdopted shows that a connection secret without a controller, such as one from a backup, is
// taken over.
func TestConnectionSecretIsAdopted(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s, from("v1", "ConfigMap", "settings", "data.color", "color"))
		old := &corev1.Secret{
			ObjectMeta: build.Meta(p.secret.Namespace, p.secret.Name), Type: "connection.crossplane.io/v1alpha1",
			Data: map[string][]byte{"color": []byte("red"), "shape": []byte("round")},
		}
		kube.Create(t, p.c, old, p.object)
		awaitReady(t, p.c, p.object)
		if got := p.awaitPublished(t, map[string]string{"color": "blue"}); !metav1.IsControlledBy(got, p.object) {
			t.Errorf("the Object must control its connection secret, owners: %v", got.OwnerReferences)
		}
	})
}

// TestDetailsWithoutWatch shows that sources which may be read but not watched are read, and that those which may not
// be read are named.
func TestDetailsWithoutWatch(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publishAs(t, s, "nobody", fromSecret("database", "data.password", "password"),
			fromSecret("forbidden", "data.password", "other"))
		role, binding := namespaceRights(p.target, p.who)
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"database"},
			Verbs: []string{"get"},
		})
		kube.Create(t, p.tc, role, binding, p.source("database", "password", "hunter2"),
			p.source("forbidden", "password", "x"))
		kube.Create(t, p.c, p.object)
		awaitCondition(t, p.c, p.object, synced)
		want := "Connection details are missing: other (the target forbids to get Secret " + p.target + "/forbidden)"
		if got := awaitCondition(t, p.c, p.object, unavailable, want); got != want {
			t.Errorf("message of condition Ready: want %q, got %q", want, got)
		}
		p.awaitPublished(t, map[string]string{"password": "hunter2"})
	})
}
