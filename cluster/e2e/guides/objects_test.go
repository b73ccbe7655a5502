package guides

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOrderObjects goes through docs/how-to/order-objects.md: an Object waits for another, the values arrive and follow
// their source, the connection Secret has one of the target, and what others depend on is deleted last.
func TestOrderObjects(t *testing.T) {
	d, page := newDesk(t), filepath.Join(top, "docs", "how-to", "order-objects.md")
	// Creates the Secret that the ProviderConfig names.
	d.Run(t, guide.Path(t, filepath.Join(top, "README.md"), "## A first Object")[0])
	d.Run(t, "kubectl apply -f examples/providerconfig/remote-cluster.yaml")
	d.follow(t, page, "## Wait")
	steps := guide.Path(t, page, "## Copy a value")
	d.ran += len(steps)
	d.Run(t, steps[0])
	d.awaitSettings(t, "eu")
	d.RunAll(t, steps[1:])
	d.awaitSettings(t, "us")
	d.follow(t, page, "## Publish a connection Secret")
	service, secret := &corev1.Service{}, &corev1.Secret{}
	kube.Get(t, d.tc, types.NamespacedName{Namespace: "shop", Name: "shop-web"}, service)
	kube.Get(t, d.c, types.NamespacedName{Namespace: "default", Name: "shop-web"}, secret)
	if got := string(secret.Data["host"]); got != service.Spec.ClusterIP {
		t.Errorf("address of the Service in the Secret: want %s, got %s", service.Spec.ClusterIP, got)
	}
	m := target.Audit(t).Mark()
	d.follow(t, page, "## Delete in order")
	d.wantAllRun(t, page)
	var deleted []string
	for _, r := range target.Audit(t).Since(m).By(user) {
		if r.Verb == "delete" && !slices.Contains(deleted, r.Resource) {
			deleted = append(deleted, r.Resource)
		}
	}
	if len(deleted) != 3 || deleted[2] != "namespaces" {
		t.Errorf("order of deletion: want a ConfigMap, a Service and then their Namespace, got %s", deleted)
	}
	d.awaitNoNamespace(t, "shop")
}

// TestApplications goes through docs/how-to/schedule-an-application.md: the application is Ready with all that it is
// made of, and leaves nothing.
func TestApplications(t *testing.T) {
	d := newDesk(t)
	page := filepath.Join(top, "docs", "how-to", "schedule-an-application.md")
	for _, heading := range []string{"## Label clusters", "## Create", "## Pass Secrets"} {
		d.RunAll(t, guide.Path(t, page, heading))
	}
	d.awaitConfigMap(t, types.NamespacedName{Namespace: "web", Name: "settings"}, map[string]string{"color": "blue"})
	secret := &corev1.Secret{ObjectMeta: build.Meta("web", "web-settings-sql")}
	kube.Await(t, d.tc, secret, "the Secret of the application", func() (bool, string) {
		return string(secret.Data["password"]) == "change-me", ""
	})
	d.RunAll(t, guide.Path(t, page, "## Delete"))
	d.awaitNoNamespace(t, "web")
}

// awaitSettings waits until the ConfigMap of docs/how-to/order-objects.md has a region, and the UID of its namespace.
func (d *desk) awaitSettings(t *testing.T, region string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: build.Meta("", "shop")}
	kube.Await(t, d.tc, ns, "namespace shop", func() (bool, string) { return true, "" })
	d.awaitConfigMap(t, types.NamespacedName{Namespace: "shop", Name: "settings"},
		map[string]string{"region": region, "namespace": string(ns.UID)})
}

// awaitConfigMap waits until a ConfigMap of the target has some data.
func (d *desk) awaitConfigMap(t *testing.T, n types.NamespacedName, want map[string]string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(n.Namespace, n.Name)}
	kube.Await(t, d.tc, cm, n.String()+" on the target", func() (bool, string) {
		diff := cmp.Diff(want, cm.Data)
		return diff == "", diff
	})
}

// awaitNoNamespace waits until a namespace of the target is gone.
func (d *desk) awaitNoNamespace(t *testing.T, name string) {
	t.Helper()
	kube.AwaitGone(t, d.tc, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// TestArgoCD adds the health checks of docs/how-to/use-gitops.md to the settings of an Argo CD, which keep what they
// had: what it leaves out of sight, and how it tracks what its Applications have made.
func TestArgoCD(t *testing.T) {
	shell := guide.NewShell(t, target.Config(), filepath.Join(top, "examples"))
	shell.Run(t, "kubectl create namespace argocd")
	had := map[string]string{
		"url": "https://argocd", "application.resourceTrackingMethod": "label",
		"resource.exclusions": "- apiGroups: [discovery.k8s.io]\n  kinds: [EndpointSlice]", // It ends without a newline.
	}
	tc, cm := target.Client(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-cm"}}
	cm.Data = maps.Clone(had)
	kube.Create(t, tc, cm)
	shell.RunAll(t, guide.Commands(t, filepath.Join(top, "docs", "how-to", "use-gitops.md"), "## Argo CD"))
	kube.Get(t, tc, client.ObjectKeyFromObject(cm), cm)
	var excluded []struct{ Kinds []string }
	if err := yaml.Unmarshal([]byte(cm.Data["resource.exclusions"]), &excluded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]struct{ Kinds []string }{{[]string{"EndpointSlice"}}, {[]string{"ProviderConfigUsage"}}},
		excluded); diff != "" {
		t.Errorf("what Argo CD leaves out: -want, +got:\n%s", diff)
	}
	delete(had, "resource.exclusions")
	for key, value := range had {
		if cm.Data[key] != value {
			t.Errorf("%s: want %s, got %q", key, value, cm.Data[key])
		}
	}
	if key := "resource.customizations.health.syncagent.kcp.io_PublishedResource"; cm.Data[key] == "" {
		t.Errorf("argocd-cm lacks %s, it has %v", key, slices.Sorted(maps.Keys(cm.Data)))
	}
}
