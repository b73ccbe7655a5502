package xpkg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const exportName = "shop.example.com"

// activate makes kinds active.
func (s *stage) activate(t *testing.T, name string, kinds ...string) {
	t.Helper()
	policy := build.Resource("apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy", "", name)
	if err := unstructured.SetNestedStringSlice(policy.Object, kinds, "spec", "activate"); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, s.c, policy)
}

// applications shows what applications need: Crossplane lets them make their resources, and the example lets them
// delete what they have made.
func (s *stage) applications(t *testing.T) {
	s.activate(t, "applications", "*.workload.crossplane.io")
	for _, kind := range []string{"kubernetesapplications", "kubernetesapplicationresources"} {
		s.awaitKind(t, kind+".workload.crossplane.io")
	}
	config := build.Namespaced().Config(s.ns, "tiered", build.FromSecret(s.ns, "target"))
	config.SetLabels(map[string]string{"tier": "test"})
	kube.Create(t, s.c, config)
	first := build.ResourceTemplate("first", build.ConfigMap(s.ns, "first", "color", "blue"))
	second := build.ResourceTemplate("second", build.ConfigMap(s.ns, "second", "color", "blue"))
	app := build.Application(s.ns, "app", "test", first, second)
	kube.Create(t, s.c, app)
	s.awaitReady(t, app)
	s.awaitData(t, "second", "blue")
	patch := client.MergeFrom(app.DeepCopy())
	app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[:1]
	if err := s.c.Patch(t.Context(), app, patch); err != nil {
		t.Fatal(err)
	}
	s.awaitMessage(t, app, `cannot delete resource "kubernetesapplicationresources" in API group "workload.crossplane.io"`)
	s.apply(t, "rbac/applications.yaml")
	kube.AwaitGone(t, s.tc, &corev1.ConfigMap{ObjectMeta: build.Meta(s.ns, "second")})
	s.awaitReady(t, app)
	kube.Remove(t, s.c, app)
	err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "first"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap of the application is still there: %v", err)
	}
}

// publishes shows that to publish needs nothing of the control plane but what Crossplane grants, and what it needs of
// the workspace.
func (s *stage) publishes(t *testing.T) {
	s.activate(t, "publishing", "publishedresources.syncagent.kcp.io")
	s.awaitKind(t, "publishedresources.syncagent.kcp.io")
	path, admin := workspaces.Workspace(t)
	in := kcp.Client(t, admin)
	kube.Create(t, in, kcp.Export(exportName))
	rules := kcp.AgentRules(exportName)
	for i, r := range rules {
		if slices.Contains(r.Resources, "apiexports") {
			rules[i].Verbs = slices.DeleteFunc(slices.Clone(r.Verbs),
				func(v string) bool { return v == "patch" || v == "update" })
		}
	}
	publisher := kube.Kubeconfig(t, kcp.ServiceAccount(t, admin, "publisher", rules...))
	kube.Create(t, s.c, build.Credentials(s.ns, "publisher", publisher))
	spec := build.FromSecret(s.ns, "publisher")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	kube.Create(t, s.c, build.ClusterConfig("publisher", spec))
	kube.Create(t, s.c, build.Definition("hats.example.com", "hats"))
	o := &syncagentv1alpha1.PublishedResource{ObjectMeta: build.Meta("", "hats")}
	o.Spec.ProviderConfigReference = &syncagentv1alpha1.ConfigReference{Name: "publisher"}
	o.Spec.Resource = syncagentv1alpha1.SourceResource{APIGroup: "hats.example.com", Kind: "Hat"}
	kube.Create(t, s.c, o)
	s.awaitMessage(t, o, `cannot patch resource "apiexports" in API group "apis.kcp.io"`)

	role := &rbacv1.ClusterRole{}
	kube.Get(t, in, types.NamespacedName{Name: "publisher"}, role)
	for i, r := range role.Rules {
		if slices.Contains(r.Resources, "apiexports") {
			role.Rules[i].Verbs = slices.Concat(r.Verbs, []string{"patch", "update"})
		}
	}
	kube.Update(t, in, role)
	s.awaitReady(t, o)
	export := &apisv1alpha2.APIExport{}
	kube.Get(t, in, types.NamespacedName{Name: exportName}, export)
	if len(export.Spec.Resources) != 1 ||
		!strings.HasSuffix(export.Spec.Resources[0].Schema, ".hats.hats.example.com") {
		t.Errorf("the APIExport does not offer the API: %v", export.Spec.Resources)
	}
	s.syncs(t, path, o)
	kube.Remove(t, s.c, o)
}

// syncs shows that the owner of an API that is published at a path is told which right is missing to sync its objects,
// and that the example gives all of them, from the first copy to its end.
func (s *stage) syncs(t *testing.T, path string, o *syncagentv1alpha1.PublishedResource) {
	_, consumer := workspaces.Workspace(t)
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, path, exportName, kcp.Claims("events")...))
	in := kcp.Client(t, consumer)
	hat := build.Resource("hats.example.com/v1", "Hat", metav1.NamespaceDefault, "bowler")
	kube.Eventually(t, "a Hat in the workspace", func() (bool, string) {
		err := in.Create(t.Context(), hat)
		return err == nil, fmt.Sprint(err)
	})
	s.awaitFailure(t, o, `cannot list resource "hats" in API group "hats.example.com"`)
	s.apply(t, "rbac/sync.yaml", func(u *unstructured.Unstructured) {
		rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
		if len(rules) == 0 {
			return
		}
		rule := rules[0].(map[string]any)
		rule["apiGroups"], rule["resources"] = []any{"hats.example.com"}, []any{"hats"}
		if err := unstructured.SetNestedSlice(u.Object, rules, "rules"); err != nil {
			t.Fatal(err)
		}
	})
	s.awaitHats(t, 1)
	kube.Delete(t, in, hat)
	s.awaitHats(t, 0)
	kube.AwaitGone(t, in, hat)
}

// awaitFailure waits until a PublishedResource says why an object is not synced.
func (s *stage) awaitFailure(t *testing.T, o *syncagentv1alpha1.PublishedResource, part string) {
	t.Helper()
	kube.Eventually(t, "the status to say what is missing", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		said := fmt.Sprint(err)
		if o.Status.Objects != nil {
			said += fmt.Sprint(o.Status.Objects.Failures)
		}
		return strings.Contains(said, part), said
	})
}

// awaitHats waits until there are as many copies of Hats.
func (s *stage) awaitHats(t *testing.T, want int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d Hats on the control plane", want), func() (bool, string) {
		got := len(kube.ListOf(t, s.c, "hats.example.com/v1", "Hat", client.HasLabels{objectsync.LabelCluster}))
		return got == want, strconv.Itoa(got)
	})
}
