package guides

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferences goes through docs/references.md: the values arrive, follow their source, and what depends on another
// goes first.
func TestReferences(t *testing.T) {
	d := newDesk(t)
	for _, commands := range guide.Path(t, filepath.Join(top, "README.md"), "## A first Object")[:1] {
		d.Run(t, commands) // Makes the Secret that the ProviderConfig names.
	}
	d.Run(t, "kubectl apply -f examples/providerconfig/remote-cluster.yaml")
	steps := guide.Path(t, filepath.Join(top, "docs", "references.md"), "# References")
	d.Run(t, steps[0])
	d.awaitSettings(t, "eu")
	d.Run(t, `kubectl patch configmap site -n default --type=merge -p '{"data":{"region":"us"}}'`)
	d.awaitSettings(t, "us")
	m := target.Audit(t).Mark()
	d.Run(t, steps[1])
	var deleted []string
	for _, r := range target.Audit(t).Since(m).By(user) {
		if r.Verb == "delete" && !slices.Contains(deleted, r.Resource) {
			deleted = append(deleted, r.Resource)
		}
	}
	if diff := cmp.Diff([]string{"configmaps", "namespaces"}, deleted); diff != "" {
		t.Errorf("order of deletion: -want, +got:\n%s", diff)
	}
	d.awaitNoNamespace(t, "shop")
}

// TestApplications goes through docs/applications.md: the application is Ready with all that it is made of, and leaves
// nothing.
func TestApplications(t *testing.T) {
	d := newDesk(t)
	steps := guide.Path(t, filepath.Join(top, "docs", "applications.md"), "## Schedule an application")
	last := len(steps) - 1
	for _, commands := range steps[:last] {
		d.Run(t, commands)
	}
	d.awaitConfigMap(t, types.NamespacedName{Namespace: "web", Name: "settings"}, map[string]string{"color": "blue"})
	secret := &corev1.Secret{}
	kube.Eventually(t, "the Secret of the application", func() (bool, string) {
		err := d.tc.Get(t.Context(), types.NamespacedName{Namespace: "web", Name: "web-settings-sql"}, secret)
		return string(secret.Data["password"]) == "change-me", fmt.Sprint(err)
	})
	d.Run(t, steps[last])
	d.awaitNoNamespace(t, "web")
}

// awaitSettings waits until the ConfigMap of docs/references.md has a region, and the UID of its namespace.
func (d *desk) awaitSettings(t *testing.T, region string) {
	t.Helper()
	ns := &corev1.Namespace{}
	kube.Eventually(t, "namespace shop", func() (bool, string) {
		err := d.tc.Get(t.Context(), types.NamespacedName{Name: "shop"}, ns)
		return err == nil, fmt.Sprint(err)
	})
	d.awaitConfigMap(t, types.NamespacedName{Namespace: "shop", Name: "settings"},
		map[string]string{"region": region, "namespace": string(ns.UID)})
}

// awaitConfigMap waits until a ConfigMap of the target has some data.
func (d *desk) awaitConfigMap(t *testing.T, n types.NamespacedName, want map[string]string) {
	t.Helper()
	kube.Eventually(t, n.String()+" on the target", func() (bool, string) {
		cm := &corev1.ConfigMap{}
		if err := d.tc.Get(t.Context(), n, cm); err != nil {
			return false, err.Error()
		}
		diff := cmp.Diff(want, cm.Data)
		return diff == "", diff
	})
}

// awaitNoNamespace waits until a namespace of the target is gone.
func (d *desk) awaitNoNamespace(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, "namespace "+name+" to be gone", func() (bool, string) {
		err := d.tc.Get(t.Context(), types.NamespacedName{Name: name},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// TestArgoCD adds the health checks of docs/gitops.md to the settings of an Argo CD, which keep what they had: what it
// leaves out of sight, and how it tracks what its Applications have made.
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
	for _, commands := range guide.Commands(t, filepath.Join(top, "docs", "gitops.md"), "## Argo CD") {
		shell.Run(t, commands)
	}
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
