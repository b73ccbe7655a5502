package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

func TestRefusesFlags(t *testing.T) {
	for flags, want := range map[string]string{ // in the log
		"--poll-jitter-percentage=100":                              "--poll-jitter-percentage must be below 100",
		"--leader-election --leader-election-lease-duration=1500ms": "must be in whole seconds",
		"--leader-election --leader-election-lease-duration=10s":    "leaseDuration must be greater than renewDeadline",
		"--leader-election --leader-election-id=Team_A":             "--leader-election-id: ",
		"--poll-state-metric=0":                                     "--poll-state-metric must be above 0",
		"--no-such-flag":                                            "unknown long flag '--no-such-flag'",
	} {
		t.Run(flags, func(t *testing.T) {
			p := start(t, strings.Fields(flags)...)
			program.AwaitEnd(t, p)
			if p.ExitCode() <= 0 || !strings.Contains(p.Log(), want) {
				t.Errorf("want a failure and %q in the log, got code %d and\n%s", want, p.ExitCode(), p.Log())
			}
		})
	}
}

// TestFlagsTrustTenants shows that an operator may let tenants use what is not theirs: Secrets of other namespaces, the
// rights of the provider, credential plugins in kubeconfigs, and values that lie outside of their namespace. The
// provider finds its control plane by the environment.
func TestFlagsTrustTenants(t *testing.T) {
	c, _ := clients(t)
	program.Start(t, local.User(t, user, admins), provider.Options{KubeconfigByEnv: true, Args: []string{
		"--allow-cross-namespace-references", "--allow-namespaced-provider-credentials", "--allow-kubeconfig-exec",
	}})
	s := build.Namespaced()
	foreign, tns := credentials(t, c), target.Namespace(t)
	kube.Create(t, c, build.Credentials(foreign, "plugin", withPlugin(t)))
	for name, tc := range map[string]struct {
		spec      commonv1.ProviderConfigSpec
		namespace string // on the target
	}{
		"ForeignSecret": {namespace: tns, spec: build.FromSecret(foreign, foreign)},
		"Plugin":        {namespace: tns, spec: build.FromSecret(foreign, "plugin")},
		"InjectedIdentity": {namespace: foreign, spec: commonv1.ProviderConfigSpec{
			Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ns := local.Namespace(t)
			site := &corev1.ConfigMap{ObjectMeta: build.Meta(foreign, ns), Data: map[string]string{"region": "eu"}}
			o := s.Object(ns, ns, ns, build.ConfigMap(tc.namespace, ns+"-settings"))
			o.Desired().References = []commonv1.Reference{
				{DependsOn: &commonv1.DependsOn{APIVersion: "v1", Kind: "Namespace", Name: foreign}},
				{PatchesFrom: &commonv1.PatchesFrom{
					APIVersion: "v1", Kind: "ConfigMap", Namespace: foreign, Name: ns, FieldPath: "data.region",
				}},
			}
			kube.Create(t, c, site, s.Config(ns, ns, tc.spec), o)
			awaitReady(t, c, o)
			var pinned []string
			for _, p := range o.Observed().References {
				pinned = append(pinned, p.Kind+" "+p.Namespace+"/"+p.Name)
			}
			if diff := cmp.Diff([]string{"Namespace /" + foreign, "ConfigMap " + foreign + "/" + ns}, pinned); diff != "" {
				t.Errorf("what the Object refers to: -want, +got:\n%s", diff)
			}
			kube.Delete(t, c, o)
			kube.Await(t, c, site, "the ConfigMap to be let go", func() (bool, string) {
				return len(site.GetFinalizers()) == 0, strings.Join(site.GetFinalizers(), ", ")
			})
		})
	}
}

// withPlugin returns a kubeconfig of the target whose credentials come from a credential plugin.
func withPlugin(t *testing.T) []byte {
	t.Helper()
	admin := target.User(t, user, admins)
	credential, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": map[string]string{
			"clientCertificateData": string(admin.CertData), "clientKeyData": string(admin.KeyData),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "credential.json")
	if err := os.WriteFile(path, credential, 0o600); err != nil {
		t.Fatal(err)
	}
	anonymous := string(kube.Kubeconfig(t, rest.AnonymousClientConfig(target.Config())))
	return []byte(strings.Replace(anonymous, "user: {}", "user: {exec: {apiVersion: client.authentication.k8s.io/v1, "+
		"command: cat, args: ["+path+"], interactiveMode: Never}}", 1))
}
