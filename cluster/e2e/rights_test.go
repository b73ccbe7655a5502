package e2e_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// TestDocumentedRights shows that the provider needs no more rights than examples/rbac grants, on the control plane and
// on a target: in both scopes it keeps and deletes collections, and Objects with dependencies and connection secrets,
// and is never denied anything. A defect of provider-kubernetes: its documents ask for all rights.
func TestDocumentedRights(t *testing.T) {
	const modest = "modest"
	c, tc := clients(t)
	grant(t, c, "control-plane.yaml", modest)
	grant(t, tc, "target.yaml", modest)
	deleteLeases(t, c)
	m := mark(t)
	program.Start(t, local.User(t, modest), provider.Options{Args: []string{"--leader-election"}})
	for _, s := range build.CollectionScopes() {
		ns, tns := local.Namespace(t), target.Namespace(t)
		config := s.Config(ns, ns, build.FromSecret(ns, "credentials"))
		first := s.Object(ns, tns, ns, build.ConfigMap(tns, "first", "color", "blue"))
		second := s.Object(ns, tns+"-second", ns, build.ConfigMap(tns, "second"))
		second.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
			Name: tns, WaitFor: commonv1.WaitForReady,
		}}}
		publishColor(first, ns, tns)
		all := s.Collection(ns, tns, ns, build.ConfigMaps(tns, commonv1.LabelKeyManaged, commonv1.LabelValueManaged))
		kube.Create(t, c,
			build.Credentials(ns, "credentials",
				kube.Kubeconfig(t, target.User(t, modest))), config, all, first, second,
		)
		awaitReady(t, c, second)
		kube.Eventually(t, "the connection secret", func() (bool, string) {
			published := &corev1.Secret{}
			err := c.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "connection"}, published)
			return err == nil && string(published.Data["color"]) == "blue", string(published.Data["color"])
		})
		kube.Await(t, c, all, "the collection to be Ready", func() (bool, string) {
			return all.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue,
				all.GetCondition(xpv2.TypeSynced).Message
		})
		kube.Delete(t, c, all, first, second, config)
		kube.AwaitGone(t, c, first, second, config)
	}
	checkAllowed(t, local.Audit(t), m.local, modest)
	checkAllowed(t, target.Audit(t), m.target, modest)
	checkSecrets(t, local.Audit(t), m.local, modest)
}

// checkSecrets checks that each stream of Secrets that a user has opened since a mark is of one that it names, although
// more is allowed: one of all takes the memory of all.
func checkSecrets(t *testing.T, a kube.Audit, since kube.Mark, who string) {
	t.Helper()
	streams := a.Watches(since).By(who).That(func(e audit.AuditEvent) bool { return e.Resource == "secrets" })
	ofMany := streams.That(func(e audit.AuditEvent) bool { return e.Name == "" })
	if len(streams) == 0 || len(ofMany) > 0 {
		t.Errorf("want streams of single Secrets, got %d, and of many:\n%s", len(streams), ofMany)
	}
}

// checkAllowed checks that no request of a user since a mark was denied.
func checkAllowed(t *testing.T, a kube.Audit, since kube.Mark, who string) {
	t.Helper()
	all := append(a.Since(since), a.Watches(since)...).By(who)
	denied := all.That(func(e audit.AuditEvent) bool { return e.Code == http.StatusForbidden })
	if len(denied) > 0 {
		t.Errorf("requests that were denied:\n%s", denied)
	}
}

// publishColor makes an Object publish the color of its ConfigMap.
func publishColor(o build.Object, namespace, targetNamespace string) {
	build.WriteConnectionSecret(o, types.NamespacedName{Namespace: namespace, Name: "connection"})
	from := corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: targetNamespace, Name: "first", FieldPath: "data.color",
	}
	o.Desired().ConnectionDetails = append(o.Desired().ConnectionDetails, build.ConnectionDetail(from, "color"))
}

// grant gives a user the rights of the ClusterRole in a file of examples/rbac.
func grant(t *testing.T, c client.Client, file, who string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "examples", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(b, role); err != nil || role.Kind != "ClusterRole" {
		t.Fatalf("%s has no ClusterRole: %v", file, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", role.GetName()),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
}

// deleteLeases deletes all Leases at the end of a test. One whose holder was killed would keep the next run waiting for
// a minute.
func deleteLeases(t *testing.T, c client.Client) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.DeleteAllOf(context.WithoutCancel(t.Context()), &coordinationv1.Lease{},
			client.InNamespace("default")); err != nil {
			t.Error(err)
		}
	})
}
