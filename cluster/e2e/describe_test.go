package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	servers "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDescribeTellsTheNextStep shows that kubectl describe of a broken Object names what is to be mended, and its
// reason, for which the guide says what to do.
func TestDescribeTellsTheNextStep(t *testing.T) {
	c, _ := clients(t)
	start(t)
	s := build.Cluster()
	ns, tns := credentials(t, c), target.Namespace(t)
	connect(t, c, s, ns)
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	kube.Create(t, c,
		build.Credentials(ns, "nobody", kube.Kubeconfig(t, target.User(t, "nobody"))),
		s.Config(ns, ns+"-nobody", build.FromSecret(ns, "nobody")), s.Config(ns, ns+"-lost",
			build.FromSecret(ns, "lost")),
	)
	cm := build.ConfigMap(tns, "broken", "color", "blue")
	for name, tc := range map[string]struct {
		reason   string
		config   string
		manifest build.Manifest
		change   func(build.Object)
		is       xpv2.ConditionReason
		want     string // of what describe says
	}{
		"NoProviderConfig": {
			reason: "The one that is missing is named.", config: "nowhere", manifest: cm,
			is: commonv1.ReasonInvalidConnection, want: `cannot get ProviderConfig "nowhere"`,
		},
		"NoSecret": {
			reason: "So is a Secret.", config: ns + "-lost", manifest: cm,
			is: commonv1.ReasonInvalidConnection, want: "Secret " + ns + "/lost does not exist",
		},
		"NoRight": {
			reason: "A right is told with whom to grant it to.", config: ns + "-nobody", manifest: cm,
			is: commonv1.ReasonForbidden, want: `User "nobody" cannot get resource "configmaps" in API group ""`,
		},
		"NoKind": {
			reason: "A kind is told with its version.", config: ns,
			manifest: manifestOf("example.org/v1", "Hat", tns, "broken", map[string]any{}),
			is:       commonv1.ReasonUnknownKind, want: "target does not serve kind Hat of example.org/v1",
		},
		"NoNamespace": {
			reason: "A namespace is named.", config: ns, manifest: build.ConfigMap("no-such", "broken"),
			is: commonv1.ReasonNamespaceMissing, want: `namespaces "no-such" not found`,
		},
		"NoField": {
			reason: "A field is told by its path.", config: ns,
			manifest: manifestOf("v1", "ConfigMap", tns, "broken", map[string]any{"date": "x"}),
			is:       commonv1.ReasonInvalidManifest, want: ".date: field not declared in schema",
		},
		"NoReference": {
			reason: "Who is waited for is named.", config: ns, manifest: cm, is: commonv1.ReasonWaitingForReference,
			want: "another",
			change: func(o build.Object) {
				o.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{Name: "another"}}}
			},
		},
		"NoResource": {
			reason: "A resource that the Object may not create must come from somebody else.", config: ns, manifest: cm,
			is: commonv1.ReasonResourceMissing, want: "management policies do not allow to create the resource",
			change: func(o build.Object) { o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.Object("", ns+"-"+strings.ToLower(name), tc.config, tc.manifest)
			if tc.change != nil {
				tc.change(o)
			}
			kube.Create(t, c, o)
			awaitReason(t, c, o, tc.is)
			if said := describe(t, "object.kubernetes.crossplane.io", o.GetName()); !strings.Contains(said, tc.want) {
				t.Errorf("%s\nkubectl describe: want %q, got\n%s", tc.reason, tc.want, said)
			}
			if !strings.Contains(string(guide), "| `"+string(tc.is)+"` |") {
				t.Errorf("the guide does not say what to do about %s", tc.is)
			}
		})
	}
}

// describe returns what kubectl describe says of a resource of the control plane.
func describe(t *testing.T, kind, name string) string {
	t.Helper()
	path, err := servers.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, kube.Kubeconfig(t, local.User(t, user, admins)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "--kubeconfig="+kubeconfig, "describe", kind, name).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl describe: %v\n%s", err, out)
	}
	return string(out)
}
