package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/openshift"
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

// publishingDefinitions are those that the chart installs by default.
var publishingDefinitions = []string{
	"clusterproviderconfigs.kubernetes.m.crossplane.io", "providerconfigusages.kubernetes.m.crossplane.io",
	"publishedresources.syncagent.kcp.io",
}

// TestRender shows what the chart renders, by testdata/render.yaml.
func TestRender(t *testing.T) {
	type want struct {
		Image, Strategy                string
		Arguments, Others, Definitions []string
		Granted, Denied                []string // of the ClusterRole
	}
	cases := map[string]struct {
		want

		Reason string
		Set    []string
	}{}
	if err := yaml.Unmarshal(read(t, filepath.Join("testdata", "render.yaml")), &cases); err != nil {
		t.Fatal(err)
	}
	chart := buildChart(t, "v0.1.0", t.TempDir())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := render(t, chart, tc.Set...)
			others, definitions := all.keys()
			d := as[appsv1.Deployment](t, all, "Deployment/kcp-sync/sync")
			granted := build.Rights(as[rbacv1.ClusterRole](t, all, "ClusterRole//sync").Rules)
			got := want{
				Image: d.Spec.Template.Spec.Containers[0].Image, Strategy: string(d.Spec.Strategy.Type),
				Arguments: d.Spec.Template.Spec.Containers[0].Args, Others: others, Definitions: definitions,
			}
			for _, r := range tc.want.Granted {
				if slices.Contains(granted, r) {
					got.Granted = append(got.Granted, r)
				}
			}
			for _, r := range tc.want.Denied {
				if !slices.Contains(granted, r) {
					got.Denied = append(got.Denied, r)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.Reason, diff)
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
	var documented []string
	for _, name := range []string{"control-plane.yaml", "service-cluster.yaml"} {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(read(t, filepath.Join(top, "examples", "rbac", name)), role); err != nil {
			t.Fatal(err)
		}
		documented = append(documented, build.Rights(role.Rules)...)
	}
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()), "--set", "objects.enabled=true,applications.enabled=true")
	for _, r := range build.Rights(as[rbacv1.ClusterRole](t, all, "ClusterRole//sync").Rules) {
		if !slices.Contains(documented, r) {
			t.Errorf("the chart grants %q, and neither control-plane.yaml nor service-cluster.yaml of examples/rbac does", r)
		}
	}
}

// TestOpenShift shows that OpenShift admits the pod of the chart as it is, and refuses those of values that lack what
// it wants.
func TestOpenShift(t *testing.T) {
	c, chart := service.Client(t), buildChart(t, "v0.1.0", t.TempDir())
	openshift.Project(t, c, "restricted")
	for set, want := range map[string]string{
		"replicas=2":                                             "",
		"securityContext.runAsUser=65532":                        "must be in the range of the namespace",
		"podSecurityContext.fsGroup=65532":                       "must be in the range of the namespace",
		"podSecurityContext.runAsNonRoot=null":                   "runAsNonRoot != true",
		"podSecurityContext.seccompProfile=null":                 "seccompProfile",
		"securityContext.capabilities=null":                      "unrestricted capabilities",
		"securityContext.allowPrivilegeEscalation=true":          "allowPrivilegeEscalation != false",
		"extraVolumes[0].name=a,extraVolumes[0].hostPath.path=/": "restricted volume types",
	} {
		t.Run(set, func(t *testing.T) {
			d := as[appsv1.Deployment](t, render(t, chart, "--set", set), "Deployment/kcp-sync/sync")
			_, err := openshift.Admit(t, c, "restricted", d.Spec.Template.Spec)
			if want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		})
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

// TestRefusedValues shows that values which cannot work are refused with their names.
func TestRefusedValues(t *testing.T) {
	chart := buildChart(t, "v0.1.0", t.TempDir())
	for value, want := range map[string]string{
		"publising.selector=a":                                  "'publising'", // Misspelt.
		"log.level=debug":                                       "at '/log'",
		"replicas=two":                                          "at '/replicas'",
		"log.format=text":                                       "at '/log/format'",
		"publishing.stateNamespace=A_B":                         "at '/publishing/stateNamespace'",
		"publishing.resources={hats}":                           "at '/publishing/resources/0'",
		"image.digest=latest":                                   "at '/image/digest'",
		"leaderElection.leaseDuration=1500ms":                   "at '/leaderElection/leaseDuration'",
		"extraArgs={-d}":                                        "at '/extraArgs/0'",
		"metrics.serviceMonitor.enabled=true":                   "metrics.serviceMonitor.enabled: needs metrics.service",
		"replicas=2,leaderElection.enabled=false":               "replicas: more than one needs leaderElection.enabled",
		"metrics.enabled=false,metrics.service.enabled=true":    "metrics.service.enabled: needs metrics.enabled",
		"metrics.enabled=false,metrics.podMonitor.enabled=true": "metrics.podMonitor.enabled: needs metrics.enabled",
		// The program refuses a flag that is there twice.
		"extraArgs={--state-namespace=a}":               "--state-namespace is set by the value publishing.stateNamespace",
		"extraArgs={--no-debug}":                        "--debug is set by the value log.debug",
		"extraArgs={--leader-election-retry-period=1s}": "set by the value leaderElection",
		"extraArgs={--health-probe-bind-addr=0}":        "the probes of the pod need the default address",
	} {
		t.Run(value, func(t *testing.T) {
			out, err := helm(t, "template", "sync", chart, "--set", value)
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("want an error with %q, got %v:\n%s", want, err, out)
			}
		})
	}
}

// TestPods shows that pods have a Service for metrics, use the settings of the user, and mount their token.
func TestPods(t *testing.T) {
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()),
		"--set", "metrics.service.enabled=true,podLabels.a=b,podAnnotations.c=d",
		"--set", "nodeSelector.e=f,priorityClassName=high,imagePullSecrets[0].name=pull",
		"--set", "extraEnv[0].name=HTTPS_PROXY,extraEnv[0].value=g",
		"--set", "extraVolumes[0].name=trust,extraVolumes[0].configMap.name=authorities",
		"--set", "extraVolumeMounts[0].name=trust,extraVolumeMounts[0].mountPath=/trust",
		"--set", "serviceAccount.name=robot")
	pod := as[appsv1.Deployment](t, all, "Deployment/kcp-sync/sync").Spec.Template
	selector := as[corev1.Service](t, all, "Service/kcp-sync/sync-metrics").Spec.Selector
	for k, v := range selector {
		if pod.Labels[k] != v {
			t.Errorf("the Service selects %s=%s, and the pod has %q", k, v, pod.Labels[k])
		}
	}
	type facts struct {
		Label, Annotation, Node, Priority, Pull, Account string
		Volume                                           string
		Env                                              []corev1.EnvVar
		Mounts                                           []corev1.VolumeMount
		Token                                            bool
	}
	s := pod.Spec
	got := facts{
		Label: pod.Labels["a"], Annotation: pod.Annotations["c"], Node: s.NodeSelector["e"], Priority: s.PriorityClassName,
		Pull: s.ImagePullSecrets[0].Name, Account: s.ServiceAccountName, Env: s.Containers[0].Env,
		Volume: s.Volumes[0].ConfigMap.Name, Mounts: s.Containers[0].VolumeMounts,
		Token: *s.AutomountServiceAccountToken,
	}
	want := facts{
		Label: "b", Annotation: "d", Node: "f", Priority: "high", Pull: "pull", Account: "robot",
		Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "g"}}, Token: true,
		Volume: "authorities", Mounts: []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	as[corev1.ServiceAccount](t, all, "ServiceAccount/kcp-sync/robot")
	for _, b := range []string{"sync-states", "sync-credentials", "sync-leader-election"} {
		if n := as[rbacv1.RoleBinding](t, all, "RoleBinding/kcp-sync/"+b).Subjects[0].Name; n != "robot" {
			t.Errorf("%s is bound to %q", b, n)
		}
	}
}
