package controller_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// newServer starts a server that serves none of our kinds yet, for one test: CustomResourceDefinitions are everybody's.
func newServer(t *testing.T) *kube.Server {
	t.Helper()
	s := &kube.Server{}
	stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKindsThatComeLater shows that a provider runs without its kinds, and that each is looked after from when it is
// served.
func TestKindsThatComeLater(t *testing.T) {
	server := newServer(t)
	c := server.Client(t, apis.AddToScheme)
	grant(t, c, "provider", granted)
	run(t, server)
	ns := server.Namespace(t)
	credentials := &corev1.Secret{ObjectMeta: build.Meta(ns, "target"), Data: map[string][]byte{
		"kubeconfig": kube.Kubeconfig(t, server.User(t, "target", "system:masters")),
	}}
	create(t, c, credentials)

	server.InstallCRDs(t, definitions(t, "kubernetes.m.crossplane.io_", "collections")...)
	works(t, c, build.Namespaced(), ns)
	server.InstallCRDs(t, definitions(t, "syncagent.kcp.io_", "")...)
	refersToShared(t, c)
	server.InstallCRDs(t, definitions(t, "kubernetes.crossplane.io_", "collections")...)
	works(t, c, build.Cluster(), ns)
	server.InstallCRDs(t, definitions(t, "kubernetes.crossplane.io_", "")...)
	gathers(t, c, ns)
}

// run runs the provider, with the rights of some groups, until the test ends, which its server outlives.
func run(t *testing.T, s *kube.Server, groups ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, s.User(t, "provider", groups...))
	t.Cleanup(func() { cancel(); wait() })
}

// granted is what Crossplane grants a provider: its kinds, though not to delete them, and some of the core.
var granted = []rbacv1.PolicyRule{
	{
		APIGroups: []string{"kubernetes.crossplane.io", "kubernetes.m.crossplane.io", "syncagent.kcp.io"},
		Resources: []string{"*"},
		Verbs:     []string{"get", "list", "watch", "update", "patch", "create"},
	},
	{
		APIGroups: []string{"", "coordination.k8s.io"},
		Resources: []string{"secrets", "configmaps", "events", "leases"}, Verbs: []string{"*"},
	},
}

// grant gives rights to a user.
func grant(t *testing.T, c client.Client, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	create(t, c, &rbacv1.ClusterRole{ObjectMeta: build.Meta("", user), Rules: rules})
	create(t, c, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", user),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

// definitions returns the files of CustomResourceDefinitions whose names begin with a group, but not those with a word
// in them.
func definitions(t *testing.T, group, but string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "package", "crds", group+"*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find definitions of %s: %v", group, err)
	}
	var found []string
	for _, f := range files {
		if but == "" || !strings.Contains(f, but) {
			found = append(found, f)
		}
	}
	return found
}

// works shows that an Object of a scope gets ready.
func works(t *testing.T, c client.Client, s build.Scope, ns string) {
	t.Helper()
	create(t, c, s.Config(ns, "target", build.FromSecret(ns, "target")))
	o := s.Object(ns, ns, "target", build.ConfigMap(ns, strings.ToLower(s.Name), "color", "blue"))
	create(t, c, o)
	awaitReady(t, c, o)
}

// refersToShared shows that a PublishedResource is looked after where no other ProviderConfigs than those of
// Crossplane 2 are served.
func refersToShared(t *testing.T, c client.Client) {
	t.Helper()
	o := &publishedv1alpha1.PublishedResource{ObjectMeta: build.Meta("", "hats")}
	o.Spec.ProviderConfigReference = &publishedv1alpha1.ConfigReference{Name: "missing"}
	o.Spec.Resource = publishedv1alpha1.SourceResource{APIGroup: "example.com", Kind: "Hat"}
	create(t, c, o)
	kube.Await(t, c, o, "the missing ClusterProviderConfig to be reported", func() (bool, string) {
		synced := o.GetCondition(xpv2.TypeSynced)
		return synced.Reason == commonv1.ReasonInvalidConnection, synced.Message
	})
}

// gathers shows that a collection has a member for a resource it selects.
func gathers(t *testing.T, c client.Client, ns string) {
	t.Helper()
	create(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "chosen", Labels: map[string]string{"chosen": "yes"},
	}})
	oc := &collectionv1alpha1.ObservedObjectCollection{ObjectMeta: build.Meta("", "chosen")}
	oc.Spec.ProviderConfigReference = &xpv2.Reference{Name: "target"}
	oc.Spec.ObserveObjects.APIVersion, oc.Spec.ObserveObjects.Kind = "v1", "ConfigMap"
	oc.Spec.ObserveObjects.Namespace = ns
	oc.Spec.ObserveObjects.Selector = metav1.LabelSelector{MatchLabels: map[string]string{"chosen": "yes"}}
	create(t, c, oc)
	awaitReady(t, c, oc)
	members := build.Cluster().NewList()
	if err := c.List(t.Context(), members,
		client.MatchingLabels{"kubernetes.crossplane.io/owned-by-collection": "chosen"}); err != nil {
		t.Fatal(err)
	}
	if n := meta.LenList(members); n != 1 {
		t.Errorf("members of the collection: want 1, got %d", n)
	}
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("cannot create %T %s: %v", o, o.GetName(), err)
	}
}

// awaitReady waits until a resource says that it is ready.
func awaitReady(t *testing.T, c client.Client, o interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
},
) {
	t.Helper()
	kube.Await(t, c, o, o.GetName()+" to be ready", func() (bool, string) {
		ready, synced := o.GetCondition(xpv2.TypeReady), o.GetCondition(xpv2.TypeSynced)
		return ready.Status == corev1.ConditionTrue, "ready: " + ready.Message + ", synced: " + synced.Message
	})
}
