package informer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestRefusedAtStart shows that a refusal soon after a kick, which tells that the server is back, is taken for a
// passing one: a server that starts does not know yet who has which rights.
func TestRefusedAtStart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		begin  func(s *Set, track func())
	}{
		"Resting": {
			reason: "A stream that rests is tried again, and does not rest for long.",
			begin:  func(s *Set, track func()) { track(); s.Kick() },
		},
		"New": {
			reason: "Nor does one that begins only after the kick.",
			begin:  func(s *Set, track func()) { s.Kick(); track() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := server.Namespace(t)
			d, err := dynamic.NewForConfig(server.User(t, ns))
			if err != nil {
				t.Fatal(err)
			}
			s := NewSet(d, Options{Wake: func(Owner) {}})
			defer s.Close()
			o := Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}}
			i := Interest{
				Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
				NamespacedName: types.NamespacedName{Namespace: ns, Name: "x"}, Stream: StreamByName,
			}
			denied := func() (bool, string) { return s.Denied(i), "none" }
			tc.begin(s, func() {
				s.Track(o, "test", i)
				kube.Eventually(t, "refusal", denied)
			})
			letRead(t, ns)
			// Before a stream that is denied for good would be tried again.
			kube.EventuallyBy(t, retryDenied/2, tc.reason+" The resource", func() (bool, string) {
				u, err := s.Get(t.Context(), o, i)
				return err == nil && u.GetName() == "x", "not seen"
			})
		})
	}
}

// letRead makes a ConfigMap in a namespace, and lets the user who is named after that read it.
func letRead(t *testing.T, ns string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"},
		}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: ns}},
	}
	c := server.Client(t)
	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}}, role, binding,
	} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}
