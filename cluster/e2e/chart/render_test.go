package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// rendered holds the resources that the chart renders, by kind, namespace and name.
type rendered map[string]*unstructured.Unstructured

// render renders the chart as release "sync" in namespace "kcp-sync".
func render(t *testing.T, chart string, args ...string) rendered {
	t.Helper()
	out, err := helm(t, append([]string{"template", "sync", chart, "--namespace=kcp-sync"}, args...)...)
	if err != nil {
		t.Fatalf("cannot render: %v\n%s", err, out)
	}
	all := rendered{}
	for doc := range bytes.SplitSeq([]byte("\n"+out), []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &u.Object); err != nil {
			t.Fatalf("cannot decode: %v\n%s", err, doc)
		}
		if len(u.Object) > 0 {
			all[strings.Join([]string{u.GetKind(), u.GetNamespace(), u.GetName()}, "/")] = u
		}
	}
	return all
}

// as converts a resource that is rendered to its type.
func as[T any](t *testing.T, all rendered, key string) *T {
	t.Helper()
	u := all[key]
	if u == nil {
		t.Fatalf("%s is not rendered", key)
	}
	o := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, o, true); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return o
}

// keys returns what is rendered beside CustomResourceDefinitions, and the names of these.
func (r rendered) keys() (others, definitions []string) {
	for k := range r {
		if name, ok := strings.CutPrefix(k, "CustomResourceDefinition//"); ok {
			definitions = append(definitions, name)
			continue
		}
		others = append(others, k)
	}
	slices.Sort(others)
	slices.Sort(definitions)
	return others, definitions
}

var (
	publishingDefinitions = []string{
		"clusterproviderconfigs.kubernetes.m.crossplane.io", "providerconfigusages.kubernetes.m.crossplane.io",
		"publishedresources.syncagent.kcp.io",
	}
	configDefinitions = []string{"providerconfigs.kubernetes.m.crossplane.io"}
	objectDefinitions = []string{
		"objects.kubernetes.crossplane.io", "objects.kubernetes.m.crossplane.io",
		"providerconfigs.kubernetes.crossplane.io", "providerconfigusages.kubernetes.crossplane.io",
		"observedobjectcollections.kubernetes.crossplane.io", "observedobjectcollections.kubernetes.m.crossplane.io",
	}
	applicationDefinitions = []string{
		"kubernetesapplicationresources.workload.crossplane.io", "kubernetesapplications.workload.crossplane.io",
	}
)

func TestRender(t *testing.T) {
	chart := buildChart(t, "v0.1.0", t.TempDir())
	roles := func(inNamespaces ...string) []string {
		all := []string{
			"ClusterRole//sync", "ClusterRoleBinding//sync", "Deployment/kcp-sync/sync",
			"ServiceAccount/kcp-sync/sync",
		}
		for _, n := range inNamespaces {
			all = append(all, "Role/"+n, "RoleBinding/"+n)
		}
		return all
	}
	usual := []string{"kcp-sync/sync-credentials", "kcp-sync/sync-leader-election", "kcp-sync/sync-states"}
	election := []string{
		"--leader-election", "--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s",
		"--leader-election-retry-period=500ms",
	}
	type want struct {
		others, definitions, args []string
		strategy                  appsv1.DeploymentStrategyType
		image                     string
		granted, denied           []string // of the ClusterRole
	}
	image := "xpkg.crossplane.io/crossplane-contrib/provider-kcp"
	cases := map[string]struct {
		reason string
		args   []string
		want   want
	}{
		"Defaults": {
			reason: "By default the provider may publish, and sync nothing.",
			want: want{
				others: roles(usual...), definitions: publishingDefinitions, strategy: appsv1.RollingUpdateDeploymentStrategyType,
				args:  append(slices.Clone(election), "--state-namespace=kcp-sync", "--log-format=json"),
				image: image + ":v0.1.0",
				granted: []string{
					"update syncagent.kcp.io/publishedresources",
					"watch apiextensions.k8s.io/customresourcedefinitions",
					"delete kubernetes.m.crossplane.io/providerconfigusages",
				},
				denied: []string{
					"get /secrets", "create /namespaces", "get kubernetes.crossplane.io/objects",
					"get kubernetes.m.crossplane.io/providerconfigs", "get workload.crossplane.io/kubernetesapplications",
					"update apiextensions.k8s.io/customresourcedefinitions",
				},
			},
		},
		"Sync": {
			reason: "The provider may write what it syncs, and make namespaces for it.",
			args: []string{
				"--set-json", `publishing.resources=[{"apiGroup":"hats.example.com","resources":["hats"]}]`,
				"--set-json", `publishing.relatedResources=[{"apiGroup":"","resources":["configmaps"]}]`,
			},
			want: want{
				others: roles(usual...), definitions: publishingDefinitions, strategy: appsv1.RollingUpdateDeploymentStrategyType,
				args:  append(slices.Clone(election), "--state-namespace=kcp-sync", "--log-format=json"),
				image: image + ":v0.1.0",
				granted: []string{
					"create hats.example.com/hats", "delete hats.example.com/hats", "patch /configmaps", "create /namespaces",
				},
				denied: []string{"delete /namespaces", "list */*", "get /secrets"},
			},
		},
		"AnotherPlace": {
			reason: "States and credentials may be in other namespaces than the release.",
			args: []string{
				"--set", "publishing.stateNamespace=kcp-system,publishing.credentialsNamespaces={a,b},publishing.selector=tier=a",
				"--set", "publishing.deleteEmptyNamespaces=true,image.digest=sha256:" + strings.Repeat("0", 64),
			},
			want: want{
				others: roles("a/sync-credentials", "b/sync-credentials", "kcp-sync/sync-leader-election",
					"kcp-system/sync-states"),
				args: append(slices.Clone(election), "--state-namespace=kcp-system", "--published-resource-selector=tier=a",
					"--log-format=json"),
				definitions: publishingDefinitions, strategy: appsv1.RollingUpdateDeploymentStrategyType,
				image:   image + "@sha256:" + strings.Repeat("0", 64),
				granted: []string{"delete /namespaces", "list */*"},
			},
		},
		"AloneWithoutALease": {
			reason: "Without a Lease two pods must not run at a time, and no right on it is needed.",
			args: []string{
				"--set", "leaderElection.enabled=false,crds.enabled=false,metrics.enabled=false,log.debug=true,log.format=console",
				"--set", "image.tag=latest,extraArgs={--poll=30m}",
			},
			want: want{
				others: roles("kcp-sync/sync-credentials", "kcp-sync/sync-states"), strategy: appsv1.RecreateDeploymentStrategyType,
				args: []string{
					"--state-namespace=kcp-sync", "--log-format=console", "--debug", "--metrics-bind-address=0",
					"--poll=30m",
				},
				image: image + ":latest",
			},
		},
		"AllKinds": {
			reason: "Kinds that are enabled are installed, with the rights that they need.",
			args: []string{
				"--set", "objects.enabled=true,applications.enabled=true,metrics.service.enabled=true,replicas=2",
				"--set-json", `rbac.extraRules=[{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get"]}]`,
			},
			want: want{
				others:      append(roles(usual...), "Service/kcp-sync/sync-metrics"),
				definitions: slices.Concat(publishingDefinitions, configDefinitions, objectDefinitions, applicationDefinitions),
				strategy:    appsv1.RollingUpdateDeploymentStrategyType,
				args:        append(slices.Clone(election), "--state-namespace=kcp-sync", "--log-format=json"),
				image:       image + ":v0.1.0",
				granted: []string{
					"delete kubernetes.m.crossplane.io/objects", "update /secrets", "get apps/deployments",
					"create workload.crossplane.io/kubernetesapplicationresources",
				},
				denied: []string{"delete /secrets", "create kubernetes.crossplane.io/observedobjectcollections"},
			},
		},
		"Optional": {
			reason: "What is made of pods and their Service is there where it is wanted.",
			args: []string{
				"--set", "metrics.service.enabled=true,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.team=a",
				"--set", "podDisruptionBudget.enabled=true,networkPolicy.enabled=true",
			},
			want: want{
				others: append(roles(usual...), "Service/kcp-sync/sync-metrics", "ServiceMonitor/kcp-sync/sync",
					"PodDisruptionBudget/kcp-sync/sync", "NetworkPolicy/kcp-sync/sync"),
				definitions: publishingDefinitions, strategy: appsv1.RollingUpdateDeploymentStrategyType,
				args:  append(slices.Clone(election), "--state-namespace=kcp-sync", "--log-format=json"),
				image: image + ":v0.1.0",
			},
		},
		"Applications": {
			reason: "Applications need ProviderConfigs of namespaces, and no Objects.",
			args:   []string{"--set", "applications.enabled=true,tenancy.restrictClusterProviderConfigs=true"},
			want: want{
				others: roles(usual...), strategy: appsv1.RollingUpdateDeploymentStrategyType, image: image + ":v0.1.0",
				definitions: slices.Concat(publishingDefinitions, configDefinitions, applicationDefinitions),
				args: append(slices.Clone(election), "--state-namespace=kcp-sync",
					"--restrict-cluster-provider-configs", "--log-format=json"),
				granted: []string{
					"get /secrets", "watch kubernetes.m.crossplane.io/clusterproviderconfigs", "watch /namespaces",
				},
				denied: []string{"get kubernetes.m.crossplane.io/objects", "create /namespaces"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := render(t, chart, tc.args...)
			others, definitions := all.keys()
			d := as[appsv1.Deployment](t, all, "Deployment/kcp-sync/sync")
			granted := build.Rights(as[rbacv1.ClusterRole](t, all, "ClusterRole//sync").Rules)
			got := want{
				others: others, definitions: definitions, args: d.Spec.Template.Spec.Containers[0].Args,
				strategy: d.Spec.Strategy.Type, image: d.Spec.Template.Spec.Containers[0].Image,
			}
			for _, r := range tc.want.granted {
				if slices.Contains(granted, r) {
					got.granted = append(got.granted, r)
				}
			}
			for _, r := range tc.want.denied {
				if !slices.Contains(granted, r) {
					got.denied = append(got.denied, r)
				}
			}
			slices.Sort(tc.want.others)
			slices.Sort(tc.want.definitions)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRenderDefinitions shows that each definition is that of the package, and that Helm keeps it.
func TestRenderDefinitions(t *testing.T) {
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()), "--set", "objects.enabled=true,applications.enabled=true")
	for name, want := range packaged(t) {
		got := all["CustomResourceDefinition//"+name]
		if got == nil {
			t.Errorf("%s is not rendered", name)
			continue
		}
		annotations := want.GetAnnotations()
		annotations["helm.sh/resource-policy"] = "keep"
		want.SetAnnotations(annotations)
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s: -package, +chart:\n%s", name, diff)
		}
	}
}

// packaged returns the CustomResourceDefinitions of the package, by their names.
func packaged(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, "package", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find definitions: %v", err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, f := range files {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(read(t, f), &u.Object); err != nil {
			t.Fatal(err)
		}
		all[u.GetName()] = u
	}
	return all
}

// TestRights shows that with all kinds enabled the chart grants no right on kinds of ours that is not documented.
func TestRights(t *testing.T) {
	guide := string(read(t, filepath.Join(top, "docs", "configuration.md")))
	_, rules, _ := strings.Cut(guide, "  name: provider-kcp\nrules:\n")
	rules, _, _ = strings.Cut(rules, "```")
	documented := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal([]byte("rules:\n"+rules), documented); err != nil {
		t.Fatal(err)
	}
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()), "--set", "objects.enabled=true,applications.enabled=true")
	for _, r := range build.Rights(as[rbacv1.ClusterRole](t, all, "ClusterRole//sync").Rules) {
		if !slices.Contains(build.Rights(documented.Rules), r) {
			t.Errorf("the chart grants %q, and docs/configuration.md does not say that it is needed", r)
		}
	}
}

// TestArchive shows that a chart does not tell when and by whom it was built, and that it has a version that Helm takes
// where there is no tag.
func TestArchive(t *testing.T) {
	b := read(t, buildChart(t, "v0.1.0", t.TempDir()))
	unzipped, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := tar.NewReader(unzipped); ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s tells when or by whom it was built: %+v", h.Name, h)
		}
	}
	if n == 0 {
		t.Error("the chart is empty")
	}
	dir := t.TempDir()
	buildChart(t, "0123456-dirty", dir)
	out, err := helm(t, "show", "chart", filepath.Join(dir, "provider-kcp-0.0.0-g0123456-dirty.tgz"))
	if err != nil || !strings.Contains(out, "appVersion: v0.0.0-g0123456-dirty") {
		t.Errorf("want a chart of a commit, got %v:\n%s", err, out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
