package xpkg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
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

// TestTakeoverOfPackage shows that the commands of docs/how-to/migrate-from-provider-kubernetes.md put our package in
// the place of that of provider-kubernetes in a real Crossplane: paused Objects wait, then all are reconciled, and
// nothing is recreated.
func TestTakeoverOfPackage(t *testing.T) {
	s := newStage(t, local.StartCrossplane)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := s.shell.Try("kubectl get providers.pkg.crossplane.io -o yaml")
			t.Log(said)
		}
	})
	former, err := os.ReadFile(filepath.Join("testdata", "former.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.shell.Run(t, "kubectl apply -f - <<'END'\n"+strings.ReplaceAll(string(former), "IMAGE", pushFormer(t))+"END\n")
	all := s.ofFormer(t)
	before := s.identities(t)

	page := filepath.Join(top, "docs", "how-to", "migrate-from-provider-kubernetes.md")
	if out := s.shell.RunAll(t, guide.Commands(t, page, "## 3. Configurations")); out != "" {
		t.Errorf("packages that depend on provider-kubernetes: want none, got %s", out)
	}
	mark := target.Audit(t).Mark()
	push(t, "v0.1.0")
	s.shell.RunAll(t, guide.Commands(t, page, "## 2. Save"))
	s.shell.RunAll(t, guide.Commands(t, page, "## 4. Runtime config"))
	s.shell.RunAll(t, guide.Commands(t, page, "## 5. Choose waves"))
	s.shell.RunAll(t, guide.Commands(t, page, "### With Crossplane"))
	notApplied := guide.Commands(t, page, "## 7. Verify")[0]
	if got := strings.Fields(s.shell.Run(t, notApplied)); len(got) != len(all) {
		t.Errorf("want all Objects to be paused, only these are: %v", got)
	}
	unpause := guide.Commands(t, page, "## 8. Unpause the next cluster")[0]
	s.shell.Run(t, strings.ReplaceAll(unpause, `"second"`, `"target"`))
	for _, o := range all {
		kube.Await(t, s.c, o, "Object "+o.GetName()+" to be taken over", func() (bool, string) {
			return o.Observed().Applied != nil, o.GetCondition(xpv2.TypeSynced).Message
		})
		s.awaitReady(t, o)
	}
	if left := s.shell.Run(t, notApplied); left != "" {
		t.Errorf("Objects that were not applied: want none, got %s", left)
	}
	if n := s.kubelet.Processes(); n != 1 {
		t.Errorf("want one provider to run, got %d", n)
	}
	if diff := cmp.Diff(before, s.identities(t)); diff != "" {
		t.Errorf("UIDs of what the Objects keep: -before, +after:\n%s", diff)
	}
	for _, e := range target.Audit(t).Since(mark).By("provider") {
		if e.Verb == "create" || e.Verb == "delete" {
			t.Errorf("the takeover has made a request to %s %s %s", e.Verb, e.Subject(), e.Name)
		}
	}
}

// ofFormer makes an Object of each scope that the provider which is installed keeps.
func (s *stage) ofFormer(t *testing.T) (all []build.Object) {
	t.Helper()
	for _, kind := range []string{
		"objects.kubernetes.crossplane.io", "objects.kubernetes.m.crossplane.io", "providerconfigs.kubernetes.crossplane.io",
		"clusterproviderconfigs.kubernetes.m.crossplane.io",
	} {
		s.awaitKind(t, kind)
	}
	config := s.keepKubeconfig(t)
	kube.Create(t, s.c, build.Cluster().Config("", "target", config), build.ClusterConfig("target", config))
	all = append(all,
		build.Cluster().Object("", "wide", "target", build.ConfigMap(s.ns, "wide", "color", "blue")),
		throughClusterConfig(s.object("narrow", "blue")))
	for _, o := range all {
		kube.Create(t, s.c, o)
		s.awaitReady(t, o)
	}
	return all
}

// pushFormer builds a package of the program and the definitions of provider-kubernetes, pushes it, and returns its
// name in the registry.
func pushFormer(t *testing.T) string {
	t.Helper()
	program, err := local.Binary("crossplane-kubernetes-provider")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, image := t.TempDir(), images.Host+"/crossplane-contrib/provider-kubernetes:v1.4.1"
	if err := os.CopyFS(filepath.Join(dir, "crds"), os.DirFS(filepath.Join(filepath.Dir(program), "crds"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "former"))); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	tarball, file := filepath.Join(out, "image.tar"), filepath.Join(out, "package.xpkg")
	for _, command := range [][]string{
		{
			"go", "run", "./cluster/images", "--program=" + program, "--arch=" + runtime.GOARCH, "--version=v1.4.1",
			"--out=" + tarball,
		},
		{
			"crank", "xpkg", "build", "--package-root=" + dir, "--embed-runtime-image-tarball=" + tarball,
			"--package-file=" + file,
		},
		{"crank", "xpkg", "push", "--package-files=" + file, image},
	} {
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir = top
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("cannot run %v: %v\n%s", command, err, out)
		}
	}
	return image
}
