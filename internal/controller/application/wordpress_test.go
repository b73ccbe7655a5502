package application_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// builder is who may make all of the design document's example on the target but its Service.
const builder = "builder"

// allow gives builder the right to do everything with some kinds.
func allow(t *testing.T, name string, groups, kinds []string) {
	t.Helper()
	c := target.Client(t)
	for _, o := range []client.Object{&rbacv1.ClusterRole{
		ObjectMeta: build.Meta("", name),
		Rules:      []rbacv1.PolicyRule{{APIGroups: groups, Resources: kinds, Verbs: []string{"*"}}},
	}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{build.User(builder)},
	}} {
		kube.Create(t, c, o)
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Error(err)
			}
		})
	}
}

// lastColumn matches the age at the end of each line.
var lastColumn = regexp.MustCompile(`(?m) \S+$`)

// kubectl runs kubectl against the control plane, and returns what it prints without the padding of columns.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "..", ".tools", "bin", "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, kube.Kubeconfig(t, local.Config()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin,
		append([]string{"--kubeconfig", config}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestWordPress applies the example of the design document and shows what it prints, and column HEALTHY, on a cluster
// that refuses the Service at first.
func TestWordPress(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	allow(t, "builder", []string{"", "apps"}, []string{"namespaces", "deployments", "secrets"})
	kube.Create(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", "complex")},
		secret("complex", "wordpress-demo-cluster", "kubeconfig", string(kube.Kubeconfig(t, target.User(t, builder)))),
		secret("complex", "sql", "password", "p"))
	pc := &mpcv1alpha1.ProviderConfig{
		ObjectMeta: build.Meta("complex", "wordpress-demo-cluster"),
		Spec:       build.FromSecret("complex", "wordpress-demo-cluster"),
	}
	pc.SetLabels(map[string]string{"app": "wordpress-demo"})
	kube.Create(t, c, pc)
	kubectl(t, "apply", "-f", filepath.Join("..", "..", "..", "examples", "applications", "wordpress.yaml"))

	for what, want := range map[string]string{
		"-n complex get kubernetesapplication wordpress-demo": "" +
			"NAME CLUSTER STATUS DESIRED SUBMITTED READY HEALTHY\n" +
			"wordpress-demo wordpress-demo-cluster PartiallySubmitted 3 2 False " +
			"False", // Ready, Healthy
		"-n complex get kubernetesapplicationresource --selector app=wordpress-demo": "" +
			"NAME TEMPLATE-KIND TEMPLATE-NAME CLUSTER STATUS READY HEALTHY\n" +
			"wordpress-demo-deployment Deployment wordpress wordpress-demo-cluster Submitted True False\n" +
			"wordpress-demo-namespace Namespace wordpress wordpress-demo-cluster Submitted True True\n" +
			"wordpress-demo-service Service wordpress wordpress-demo-cluster Failed False " +
			"False",
	} {
		kube.Eventually(t, "kubectl "+what, func() (bool, string) {
			diff := cmp.Diff(want, lastColumn.ReplaceAllString(kubectl(t, strings.Fields(what)...), ""))
			return diff == "", "-want, +got:\n" + diff
		})
	}
	copied := &corev1.Secret{}
	if err := tc.Get(t.Context(), types.NamespacedName{Namespace: "wordpress", Name: "wordpress-demo-deployment-sql"},
		copied); err != nil {
		t.Error(err)
	}

	allow(t, "builder-services", []string{""}, []string{"services"})
	app := &application{ObjectMeta: build.Meta("complex", "wordpress-demo")}
	awaitState(t, c, app, workloadv1alpha1.StateSubmitted)
	w := world{c: c, tc: tc, ns: "complex"}
	kube.Eventually(t, "the status of the Deployment", func() (bool, string) {
		r := w.resource(t, "wordpress-demo-deployment")
		return r.Status.Remote != nil &&
			strings.Contains(string(r.Status.Remote.Raw), `"unavailableReplicas":1`), fmt.Sprint(r.Status.Remote)
	})
	kubectl(t, "-n", "complex", "delete", "kubernetesapplication", "wordpress-demo")
	kube.AwaitGone(t, tc, &corev1.Namespace{ObjectMeta: build.Meta("", "wordpress")})
	ns := &corev1.Namespace{ObjectMeta: build.Meta("", "complex")}
	kube.Remove(t, c, ns)
}
