package publishedresource_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncUnreadable shows that objects of a tenant which are too deep or too long stop no other tenant, in streams
// that are open and in those that begin, that the tenant and the PublishedResource name them, and that they are as any
// other once they are repaired or deleted.
func TestSyncUnreadable(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "certs", "secretName", "keyName")
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.XPreserveUnknownFields = new(true)
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	kube.Create(t, s.c, d)
	o := s.offer(t, s.publishedCerts(local.Namespace(t)))
	bad, good := s.tenant(t), s.tenant(t)
	was := s.cert("was")
	kube.Create(t, bad, was)
	copied := s.copyOf(t, bad)

	deep, refers, named := s.cert("deep"), s.cert("refers"), s.cert("named")
	set(t, deep, build.Nested(9900), "spec", "more")
	set(t, refers, "long", "spec", "keyName")
	set(t, named, "managed", "spec", "keyName")
	long := secretIn(metav1.NamespaceDefault, "long", "x")
	long.Type = corev1.SecretType(strings.Repeat("<", 1400<<10))
	kube.Create(t, bad, deep, refers, named, long, secretIn(metav1.NamespaceDefault, "managed", "x"))
	manageDeeply(t, bad, "managed")
	patchSpec(t, bad, was, build.Nested(2000))
	failed := func(c *v1alpha1.ObjectCounts) bool {
		return c.Failed == 4 && len(c.Failures) == 1 && c.Failures[0].Workspace == bad.path &&
			c.Failures[0].Object == "default/deep" && strings.Contains(c.Failures[0].Message, "1000 levels")
	}
	awaitObjects(t, s.c, o, failed)
	for _, name := range []string{`Cert "default/deep"`, `Secret "default/long"`, `Secret "default/managed"`} {
		kube.AwaitEvent(t, bad, objectsync.ReasonTooLarge, name+" cannot be read")
	}
	for _, name := range []string{"one", "two"} {
		secret := name + "-key"
		u := s.cert(name)
		set(t, u, secret, "spec", "keyName")
		kube.Create(t, good, u, secretIn(metav1.NamespaceDefault, secret, "a"))
		at := s.copyNamed(t, good, name).GetNamespace()
		awaitValue(t, s.c, at, secret, "a")
		kube.Update(t, good, secretIn(metav1.NamespaceDefault, secret, "b"))
		awaitValue(t, s.c, at, secret, "b")
		setSecret(t, s.c, s.config, kube.Kubeconfig(t, s.agent(t))) // All streams begin anew.
	}
	if got := s.copyNamed(t, bad, "was"); got.GetUID() != copied.GetUID() {
		t.Errorf("the copy of an object that cannot be read is another one: %v", got)
	}
	awaitObjects(t, s.c, o, failed)

	patchSpec(t, bad, deep, nil)
	s.copyNamed(t, bad, "deep")
	kube.Remove(t, bad, was, long)
	kube.Eventually(t, "the copy of what is deleted to go", func() (bool, string) {
		names := describeAll(s.copies(t, bad))
		return !strings.Contains(names, "/was"), names
	})
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 1 })
}

// set sets a field.
func set(t *testing.T, u *unstructured.Unstructured, value any, fields ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(u.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

func patchSpec(t *testing.T, c client.Client, u *unstructured.Unstructured, more any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"more": more}})
	if err != nil {
		t.Fatal(err)
	}
	kube.Patch(t, c, u, string(body))
}

// manageDeeply gives a Secret managed fields of many levels.
func manageDeeply(t *testing.T, in tenant, name string) {
	t.Helper()
	secrets := kubernetes.NewForConfigOrDie(in.cfg).CoreV1().Secrets(metav1.NamespaceDefault)
	u, err := secrets.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const levels = 3000
	u.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "deep", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{
			Raw: []byte(strings.Repeat(`{"f:a":`, levels) + "{}" + strings.Repeat("}", levels)),
		},
	}}
	if _, err := secrets.Update(context.Background(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestSyncDeniedStream shows that a PublishedResource says so if the service cluster denies the stream of the copies,
// though nothing is there that fails, and if objects may not be copied; and that they are copied soon after the rights
// come, although the service cluster tells nobody. TestPauses of package publication shows how seldom they are tried
// until then.
func TestSyncDeniedStream(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	user := s.config + "-blind"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			Verbs: []string{"get", "list", "watch"},
		},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets"}, Verbs: []string{"*"}},
		{APIGroups: []string{s.group}, Resources: []string{"certs"}, Verbs: []string{"get"}},
	}}
	kube.Create(t, s.c, role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
	elsewhere := serviceCluster(t, s.c, local.User(t, user))
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.ServiceClusterConfigReference, o.Spec.Related = &v1alpha1.ConfigReference{Name: elsewhere}, nil
	})
	allow := func(verbs ...string) {
		t.Helper()
		role.Rules[2].Verbs = verbs
		kube.Update(t, s.c, role)
	}
	one, two := s.tenant(t), s.tenant(t)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced), "certs."+s.group+" is forbidden")
	allow("get", "list", "watch")
	await(t, s.c, o, is(xpv2.TypeSynced, xpv2.ReasonReconcileSuccess))

	for _, name := range []string{"a", "b", "c"} {
		kube.Create(t, one, s.cert(name))
		kube.Create(t, two, s.cert(name))
	}
	awaitCounts(t, s.c, o, 0, 6)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced))
	allow("*")
	awaitCounts(t, s.c, o, 6, 0)
}
