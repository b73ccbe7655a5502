package xpkg

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTakeoverOfPackage shows that the commands of docs/migrate-from-provider-kubernetes.md put our package in the
// place of that of provider-kubernetes in a real Crossplane: its Objects are taken over, and nothing is made again.
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

	steps := guide.Commands(t, filepath.Join(top, "docs", "migrate-from-provider-kubernetes.md"), "## With Crossplane")
	mark := target.Audit(t).Mark()
	push(t, "v0.1.0")
	s.shell.Run(t, steps[0]) // The account keeps its name.
	s.shell.Run(t, steps[1])
	for _, o := range all {
		kube.Await(t, s.c, o, "Object "+o.GetName()+" to be taken over", func() (bool, string) {
			return o.Observed().Applied != nil, o.GetCondition(xpv2.TypeSynced).Message
		})
		s.awaitReady(t, o)
	}
	s.shell.RunAll(t, steps[2:])
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
