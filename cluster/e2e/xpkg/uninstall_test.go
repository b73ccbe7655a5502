package xpkg

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestUninstallInCrossplane1 shows of the last Crossplane 1 what TestPackage shows of Crossplane 2.
func TestUninstallInCrossplane1(t *testing.T) {
	s := newStage(t, local.StartCrossplane1)
	s.apply(t, "install/provider.yaml", inPackage(push(t, "v0.1.0")))
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	s.apply(t, "rbac/leader-election.yaml")
	s.awaitProvider(t, "Installed", "Healthy")
	s.awaitKind(t, "objects.kubernetes.m.crossplane.io")
	kube.Create(t, s.c, build.Namespaced().Config(s.ns, "target", s.keepKubeconfig(t)))
	s.uninstalls(t)
}

// uninstalls shows that the commands of docs/how-to/install.md bring an installation back that was removed in the wrong
// order, and remove it in the right one. Nothing is lost on the target, and no finalizer is stripped by hand.
func (s *stage) uninstalls(t *testing.T) {
	uninstall, rescue := commands(t, "## Uninstall"), commands(t, "## Recover from a wrong uninstall")
	kept := s.object("kept", "blue")
	kube.Create(t, s.c, kept)
	s.awaitReady(t, kept)
	before := s.identities(t)["kept"]
	// The provider may still run while the definitions go: without a pause it deletes in that time what is not kept yet.
	pause := "kubectl annotate --overwrite objects.kubernetes.m.crossplane.io kept -n " + s.ns + " crossplane.io/paused="
	s.kubectl(t, pause+"true")

	s.kubectl(t, "kubectl delete -f examples/install/provider.yaml --timeout=60s")
	kube.Eventually(t, "definitions to be terminating, and no provider to run", func() (bool, string) {
		return len(s.definitions(t, true)) > 0 && s.kubelet.Processes() == 0,
			strconv.Itoa(s.kubelet.Processes()) + " providers run"
	})
	s.kubectl(t, uninstall[0])
	s.kubectl(t, pause+"false")
	s.kubectl(t, rescue[0])
	s.rescue(t, func() bool { return s.kubectl(t, rescue[2]) == "" })
	s.kubectl(t, rescue[3])
	if left := s.definitions(t, false); len(left) > 0 {
		t.Fatalf("definitions left: %s", strings.Join(left, ", "))
	}

	s.apply(t, "install/provider.yaml", inPackage(push(t, "v0.1.4")))
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	s.awaitProvider(t, "Installed", "Healthy")
	s.awaitKind(t, "objects.kubernetes.m.crossplane.io")
	s.awaitKind(t, "providerconfigs.kubernetes.m.crossplane.io")
	kube.Create(t, s.c, build.Namespaced().Config(s.ns, "target", build.FromSecret(s.ns, "target")))
	kept = s.object("kept", "blue")
	kube.Create(t, s.c, kept)
	s.awaitReady(t, kept)
	if after := s.identities(t)["kept"]; after != before {
		t.Errorf("ConfigMap kept: want %s as before, got %s", before, after)
	}

	s.kubectl(t, s.served(t, uninstall[1]))
	s.kubectl(t, uninstall[2])
	kube.Eventually(t, "all definitions to be gone", func() (bool, string) {
		left := s.definitions(t, false)
		return len(left) == 0, strings.Join(left, ", ")
	})
}

// rescue runs the provider outside of Crossplane until it has finished.
func (s *stage) rescue(t *testing.T, finished func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, s.control.User(t, "rescuer", admins))
	defer func() { cancel(); wait() }()
	kube.Eventually(t, "no definition to be terminating", func() (bool, string) {
		return finished(), strings.Join(s.definitions(t, true), ", ")
	})
}

// ourGroups ends the names of the definitions of the package.
var ourGroups = regexp.MustCompile(`\.(kubernetes(\.m)?\.crossplane\.io|workload\.crossplane\.io|syncagent\.kcp\.io)$`)

// definitions returns the names of the definitions of the package that are there, or of those that are terminating.
func (s *stage) definitions(t *testing.T, terminating bool) []string {
	t.Helper()
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	kube.List(t, s.c, all)
	var names []string
	for _, crd := range all.Items {
		if ourGroups.MatchString(crd.Name) && (!terminating || crd.DeletionTimestamp != nil) {
			names = append(names, crd.Name)
		}
	}
	return names
}

// commands returns the blocks of commands under a heading of the guide.
func commands(t *testing.T, heading string) []string {
	t.Helper()
	return guide.Commands(t, filepath.Join(top, "docs", "how-to", "install.md"), heading)
}

// kindsOf finds the kinds of a command that deletes all of them.
var kindsOf = regexp.MustCompile(`(?m)^kubectl delete (\S+) --all.*\n`)

// served leaves out of commands the kinds that are not active, as the guide says.
func (s *stage) served(t *testing.T, script string) string {
	t.Helper()
	active := s.definitions(t, false)
	return kindsOf.ReplaceAllStringFunc(script, func(line string) string {
		all := kindsOf.FindStringSubmatch(line)[1]
		kinds := slices.DeleteFunc(strings.Split(all, ","), func(kind string) bool { return !slices.Contains(active, kind) })
		if len(kinds) == 0 {
			return ""
		}
		return strings.Replace(line, all, strings.Join(kinds, ","), 1)
	})
}

// kubectl runs commands of the guide as in a terminal: they go on after one that fails, as those do that look for a
// kind that is not active. It returns what they print, but for errors.
func (s *stage) kubectl(t *testing.T, script string) string {
	t.Helper()
	out, _ := s.shell.Try("set +e\nexec 2>/dev/null\n" + script) // What they have done is seen on the control plane.
	return out
}
