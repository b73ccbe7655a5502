package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// looker is who runs the preflight, with the rights of the guide.
	looker = "looker"
	// hidden is a text of a Secret.
	hidden = "hidden-from-reports"
)

// look runs a preflight as a user, and returns its report and its exit code. It shows that nothing was written, and
// nothing of a Secret was printed.
func look(t *testing.T, who string) (preflight.Report, int) {
	t.Helper()
	audit := local.Audit(t)
	m := audit.Mark()
	p := program.Start(t, local.User(t, who), provider.Options{
		Args: []string{"preflight", preflight.ProviderKubernetes, "--output=json"},
	})
	program.AwaitEnd(t, p)
	if strings.Contains(p.Log(), hidden) {
		t.Error("the report holds content of a Secret")
	}
	for _, e := range append(audit.Since(m), audit.Watches(m)...) {
		if e.User == who && e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
			t.Errorf("the preflight has made a request to %s %s", e.Verb, e.Subject())
		}
	}
	r := preflight.Report{}
	if err := json.Unmarshal([]byte(p.Log()), &r); err != nil {
		t.Fatalf("%v:\n%s", err, p.Log())
	}
	return r, p.ExitCode()
}

// brief ignores all fields of findings that are not names.
var brief = cmpopts.IgnoreFields(preflight.Finding{}, "Names", "Why", "Cure")

// TestPreflight shows the report of a preflight on a real installation of provider-kubernetes with faults. After the
// cures the report is empty of them.
func TestPreflight(t *testing.T) {
	p, c, _ := installed(t)
	f := newFleet(t, c, 4)
	leaveClientSide(t, p, c, f)
	faults := leaveFaults(t, c)
	grant(t, c, "preflight.yaml", looker)

	r, code := look(t, looker)
	if code != 1 || r.ExitCode != code {
		t.Errorf("exit code: want 1, got %d, and %d in the report", code, r.ExitCode)
	}
	if diff := cmp.Diff([]preflight.Finding{
		{Effect: "refused", What: "CustomResourceDefinition with spec.conversion.strategy: Webhook", Count: 1},
		{Effect: "refused", What: "Deployment of provider-kubernetes that runs", Count: 1},
		{Effect: "refused", What: "Object of kubernetes.m.crossplane.io that is not Synced", Count: 1},
		{Effect: "refused", What: "Object of kubernetes.m.crossplane.io with a reference to another namespace", Count: 1},
		{Effect: "refused", What: "ProviderConfig of kubernetes.crossplane.io that is refused", Count: 1},
		{
			Effect: "refused",
			What:   "ProviderConfig of kubernetes.crossplane.io with identity NebiusServiceAccountCredentials that is refused",
			Count:  1,
		},
		{Effect: "differs", What: "Object of kubernetes.crossplane.io that was applied client-side", Count: 2},
		{Effect: "differs", What: "Object of kubernetes.crossplane.io without watch: true", Count: 2},
		{Effect: "differs", What: "Object of kubernetes.m.crossplane.io that was applied client-side", Count: 2},
		{Effect: "differs", What: "Object of kubernetes.m.crossplane.io without watch: true", Count: 3},
		{Effect: "kept", What: "CustomResourceDefinition", Count: 8},
		{Effect: "kept", What: "ProviderConfig of kubernetes.crossplane.io", Count: 1},
		{Effect: "kept", What: "ProviderConfig of kubernetes.m.crossplane.io", Count: 1},
	}, r.Findings, brief); diff != "" {
		t.Errorf("findings: -want, +got:\n%s", diff)
	}

	cureFaults(t, c, faults)
	if r, code := look(t, looker); code != 0 {
		t.Errorf("when the cures were followed: want exit code 0, got %d and %+v", code, r.Findings)
	}
}

// leaveClientSide lets provider-kubernetes make the Objects of a fleet by client-side apply.
func leaveClientSide(t *testing.T, p peer, c client.Client, f fleet) {
	t.Helper()
	process := p.start(t, "--no-enable-server-side-apply", "--poll=2s")
	kube.Eventually(t, "all Objects to be created", func() (bool, string) {
		err := f.create(t.Context(), c) // The webhook of the peer takes a moment.
		return err == nil, fmt.Sprint(err)
	})
	f.awaitReady(t, c)
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
}

// leaveFaults makes what a takeover refuses, and returns it.
func leaveFaults(t *testing.T, c client.Client) []client.Object {
	t.Helper()
	ns := local.Namespace(t)
	program := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: %s}}}]
`, hidden)
	nebius := build.FromSecret(ns, "exec")
	nebius.Identity = &commonv1.Identity{Type: commonv1.IdentityNebius, ProviderCredentials: nebius.Credentials}
	far := build.Namespaced().Object(ns, "far", ns, build.ConfigMap(ns, "far"))
	far.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
		APIVersion: "v1", Kind: "ConfigMap", Name: "other", Namespace: "default",
	}}}
	replicas := int32(1)
	labels := map[string]string{"app": "peer"}
	container := corev1.Container{
		Name: "package-runtime", Image: "example.org/crossplane-contrib/provider-kubernetes:v1.4.1",
		Args: []string{"--no-enable-server-side-apply", "--poll=2s"},
	}
	faults := []client.Object{
		build.Credentials(ns, "exec", []byte(program)),
		build.Cluster().Config("", "exec", build.FromSecret(ns, "exec")),
		build.Cluster().Config("", "nebius", nebius),
		far,
		&appsv1.Deployment{
			ObjectMeta: build.Meta(metav1.NamespaceDefault, "peer"),
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
				},
			},
		},
	}
	for _, o := range faults {
		kube.Create(t, c, o)
	}
	return faults
}

// conversionNone is the patch that the report names.
const conversionNone = `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`

// cureFaults follows the cures: it removes what is refused, stops the peer, and takes the webhook back.
func cureFaults(t *testing.T, c client.Client, faults []client.Object) {
	t.Helper()
	for _, o := range faults {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", "objects.kubernetes.crossplane.io")}
	if err := c.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(conversionNone))); err != nil {
		t.Error(err)
	}
}
