package controller_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// A site is a control plane that the provider is uninstalled from, by the commands of docs/install.md.
type site struct {
	server *kube.Server
	c      client.Client
	ns     string
	env    []string
}

// TestUninstall shows that by the commands of the guide nothing hangs, and that what is to be kept is: if the provider
// is uninstalled last, and if its definitions were deleted first, as Crossplane does it with a Provider.
func TestUninstall(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		first  bool // the definitions are deleted first
		keeps  bool
	}{
		"Deletes":           {reason: "Resources go with their Objects."},
		"Keeps":             {reason: "Policies keep them.", keeps: true},
		"WrongOrderDeletes": {reason: "A provider that runs once more finishes.", first: true},
		"WrongOrderKeeps":   {reason: "Policies that come late keep them, too.", first: true, keeps: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			stop := s.serve(t)
			s.install(t)
			uninstall, rescue := commands(t, "## Uninstall"), commands(t, "### The provider was deleted first")
			if tc.first {
				stop()
				s.deleteDefinitions(t)
			}
			if tc.keeps {
				s.run(t, uninstall[0])
			}
			if tc.first {
				s.run(t, rescue[0])
				s.serve(t)
				kube.Eventually(t, "no definition to be terminating", func() (bool, string) {
					out := s.run(t, rescue[2])
					return out == "", out
				})
			} else {
				s.run(t, uninstall[1])
			}
			for _, scope := range build.Scopes() {
				n := types.NamespacedName{Namespace: s.ns, Name: strings.ToLower(scope.Name)}
				err := s.c.Get(t.Context(), n, &corev1.ConfigMap{})
				if client.IgnoreNotFound(err) != nil || (err == nil) != tc.keeps {
					t.Errorf("%s ConfigMap %s: want it there: %t, got %v", tc.reason, n.Name, tc.keeps, err)
				}
			}
			s.run(t, "kubectl delete -f package/crds --ignore-not-found --timeout=60s")
		})
	}
}

// newSite starts a control plane with all definitions. It collects garbage, as records of use go with their Objects.
func newSite(t *testing.T) *site {
	t.Helper()
	server := &kube.Server{ControllerManager: true}
	startServer(t, server)
	server.InstallCRDs(t, filepath.Join("..", "..", "package", "crds"))
	kubectl, err := local.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	admin := kube.Kubeconfig(t, server.User(t, "admin", "system:masters"))
	if err := os.WriteFile(kubeconfig, admin, 0o600); err != nil {
		t.Fatal(err)
	}
	return &site{
		server: server, c: server.Client(t, apis.AddToScheme), ns: server.Namespace(t),
		env: append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH")),
	}
}

// serve runs the provider until the test ends, or until the function is called that it returns.
func (s *site) serve(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, s.server.User(t, "provider", "system:masters"))
	stop = func() { cancel(); wait() }
	t.Cleanup(stop)
	return stop
}

// install makes an Object of each scope, which keeps a ConfigMap.
func (s *site) install(t *testing.T) {
	t.Helper()
	create(t, s.c, &corev1.Secret{ObjectMeta: build.Meta(s.ns, "target"), Data: map[string][]byte{
		"kubeconfig": kube.Kubeconfig(t, s.server.User(t, "target", "system:masters")),
	}})
	for _, scope := range build.Scopes() {
		works(t, s.c, scope, s.ns)
	}
}

// deleteDefinitions deletes all definitions while no provider runs, and waits until the API server has deleted what it
// can: Objects stay, by their finalizers, and records of use go with their definitions.
func (s *site) deleteDefinitions(t *testing.T) {
	t.Helper()
	before := s.definitions(t)
	for _, name := range before { // One by one: a collection goes without what its definitions define.
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", name)}
		kube.Delete(t, s.c, crd)
	}
	kube.Eventually(t, "the Objects to be deleted, and some definitions to be gone", func() (bool, string) {
		for _, scope := range build.Scopes() {
			o := scope.Object(s.ns, s.ns, "", nil)
			if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() == nil {
				return false, fmt.Sprintf("%s Object is not deleted: %v", scope.Name, err)
			}
		}
		left := s.definitions(t)
		return len(left) < len(before), strings.Join(left, ", ")
	})
}

// definitions returns the names of the definitions that are left.
func (s *site) definitions(t *testing.T) []string {
	t.Helper()
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	kube.List(t, s.c, all)
	names := make([]string, 0, len(all.Items))
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names
}

// commands returns the blocks of commands under a heading of the guide.
func commands(t *testing.T, heading string) []string {
	t.Helper()
	return guide.Commands(t, filepath.Join("..", "..", "docs", "install.md"), heading)
}

// run runs commands of the guide, from the folder of the sources, and returns what they print.
func (s *site) run(t *testing.T, script string) string {
	t.Helper()
	limit := strconv.Itoa(int(soon.Seconds())) // It ends all that the script has started.
	c := exec.CommandContext(t.Context(), "timeout", limit, "bash", "-euo", "pipefail", "-c", script)
	c.Dir, c.Env = filepath.Join("..", ".."), s.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, script, out)
	}
	return string(out)
}
