package xpkg

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

var page = filepath.Join(top, "docs", "how-to", "migrate-from-provider-kubernetes.md")

// A migration is an installation of provider-kubernetes in a real Crossplane, and what it keeps.
type migration struct {
	*stage

	waves map[string][]build.Object // by ProviderConfig
	idle  build.Object              // paused before the migration
}

// TestTakeoverOfPackage shows that the commands of docs/how-to/migrate-from-provider-kubernetes.md put our package in
// the place of that of provider-kubernetes, with a Configuration that depends on it, in two waves, and back again. No
// resource is created or deleted on the way.
func TestTakeoverOfPackage(t *testing.T) {
	m := &migration{stage: newStage(t, local.StartCrossplane)}
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := m.shell.Try("kubectl get providers.pkg.crossplane.io,providerrevisions.pkg.crossplane.io," +
				"configurations.pkg.crossplane.io,configurationrevisions.pkg.crossplane.io,locks.pkg.crossplane.io -o yaml")
			t.Log(said)
		}
	})
	m.installFormer(t)
	m.make(t)
	before, shared := m.identities(t), m.shell.Run(t, showShared)
	push(t, "v0.1.0")
	mark := target.Audit(t).Mark()

	m.prepare(t)
	m.takesOver(t)
	if now := m.shell.Run(t, showShared); now != shared {
		t.Errorf("the DeploymentRuntimeConfig that another Provider uses: want %s, got %s", shared, now)
	}
	m.adds(t)
	m.goesBack(t)
	if diff := cmp.Diff(before, m.identities(t)); diff != "" {
		t.Errorf("UIDs of what the Objects keep: -before, +after:\n%s", diff)
	}
	for _, e := range target.Audit(t).Since(mark).By("provider") {
		if e.Verb == "create" || e.Verb == "delete" {
			t.Errorf("the migration has made a request to %s %s %s", e.Verb, e.Subject(), e.Name)
		}
	}
}

// showShared prints what the DeploymentRuntimeConfig of two Providers says.
const showShared = "kubectl get deploymentruntimeconfig shared -o jsonpath='{.metadata.generation}{.spec}'"

// follow runs the commands under a heading of the guide.
func (m *migration) follow(t *testing.T, heading string) string {
	t.Helper()
	return m.shell.RunAll(t, guide.Commands(t, page, heading))
}

// installFormer installs provider-kubernetes, and what else is there on a platform: a Provider that shares its
// DeploymentRuntimeConfig, and a Configuration that depends on it.
func (m *migration) installFormer(t *testing.T) {
	t.Helper()
	image := pushFormer(t)
	for name, meta := range map[string]string{
		"provider-other:v1.0.0": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: other}\n",
		"platform:v1.0.0": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: platform}\nspec:\n" +
			"  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Provider, version: '>=v1.0.0', package: " + registry() +
			"/provider-kubernetes}\n",
	} {
		oci.Push(t, registry()+"/"+name, fstest.MapFS{"package.yaml": {Data: []byte(meta), Mode: 0o644}})
	}
	former, err := os.ReadFile(filepath.Join("testdata", "former.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifests := strings.NewReplacer("IMAGE", image, "REGISTRY", registry()).Replace(string(former))
	m.shell.Run(t, "kubectl apply -f - <<'END'\n"+manifests+"END\n")
	m.shell.Run(t, "kubectl wait provider.pkg.crossplane.io/provider-kubernetes --for=condition=Healthy --timeout=60s")
	platform := build.Resource("pkg.crossplane.io/v1", "Configuration", "", "platform")
	platform.Object["spec"] = map[string]any{"package": registry() + "/platform:v1.0.0"}
	kube.Create(t, m.c, platform) // Before, Crossplane would install what it depends on.
	m.shell.Run(t, "kubectl wait configuration.pkg.crossplane.io/platform --for=condition=Healthy --timeout=60s")
}

// make makes Objects of each scope for two ProviderConfigs, and one that is paused.
func (m *migration) make(t *testing.T) {
	t.Helper()
	for _, kind := range []string{
		"objects.kubernetes.crossplane.io", "objects.kubernetes.m.crossplane.io", "providerconfigs.kubernetes.crossplane.io",
		"clusterproviderconfigs.kubernetes.m.crossplane.io",
	} {
		m.awaitKind(t, kind)
	}
	spec := m.keepKubeconfig(t)
	m.waves = map[string][]build.Object{}
	for _, wave := range []string{"first", "second"} {
		kube.Create(t, m.c, build.Cluster().Config("", wave, spec), build.ClusterConfig(wave, spec))
		m.waves[wave] = []build.Object{
			build.Cluster().Object("", "wide-"+wave, wave, build.ConfigMap(m.ns, "wide-"+wave, "color", "blue")),
			throughClusterConfig(build.Namespaced().Object(m.ns, "narrow-"+wave, wave,
				build.ConfigMap(m.ns, "narrow-"+wave, "color", "blue"))),
		}
	}
	m.idle = build.Cluster().Object("", "idle", "second", build.ConfigMap(m.ns, "idle", "color", "blue"))
	for _, o := range append(m.all(), m.idle) {
		kube.Create(t, m.c, o)
		m.awaitReady(t, o)
	}
	m.shell.Run(t, "kubectl annotate objects.kubernetes.crossplane.io/idle crossplane.io/paused=true")
}

func (m *migration) all() []build.Object {
	return append(slices.Clone(m.waves["first"]), m.waves["second"]...)
}

// prepare follows the guide up to the switch: preflight refuses what the guide puts right.
func (m *migration) prepare(t *testing.T) {
	t.Helper()
	m.apply(t, "rbac/preflight.yaml")
	kube.Create(t, m.c, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", looker), Subjects: []rbacv1.Subject{build.User(looker)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "provider-kcp-preflight"},
	})
	want := []string{
		"ServiceAccount that the DeploymentRuntimeConfig does not name", "package that depends on provider-kubernetes",
	}
	if diff := cmp.Diff(want, m.refused(t)); diff != "" {
		t.Errorf("what preflight refuses: -want, +got:\n%s", diff)
	}
	m.follow(t, "## 2. Save")
	list := guide.Commands(t, page, "## 3. Configurations")[0]
	if got := m.lines(t, list); len(got) != 1 || !strings.HasPrefix(got[0], "platform-") {
		t.Errorf("packages that depend on provider-kubernetes: want the Configuration, got %q", got)
	}
	m.follow(t, "## 3. Configurations")
	kube.Eventually(t, "no package to depend on provider-kubernetes", func() (bool, string) {
		got := m.shell.Run(t, list)
		return got == "", got
	})
	m.follow(t, "## 4. Runtime config")
	m.follow(t, "## 5. Choose waves")
	kube.Eventually(t, "preflight to refuse nothing when the guide was followed", func() (bool, string) {
		got := m.refused(t) // Until Crossplane has handed the definitions over, the revisions of the package share them.
		return len(got) == 0, fmt.Sprint(got)
	})
}

// looker is who runs the preflight.
const looker = "looker"

// refused returns what preflight refuses, run with the permissions that are documented.
func (m *migration) refused(t *testing.T) (all []string) {
	t.Helper()
	p := program.Start(t, m.control.User(t, looker), provider.Options{
		Args: []string{"preflight", preflight.ProviderKubernetes, "--output=json"},
	})
	program.AwaitEnd(t, p)
	r := preflight.Report{}
	if err := json.Unmarshal([]byte(p.Log()), &r); err != nil || r.ExitCode == preflight.ExitUnknown {
		t.Fatalf("%v: %s", err, p.Log())
	}
	for _, f := range r.Findings {
		if f.Effect == preflight.Refused {
			all = append(all, f.What)
		}
	}
	return all
}

// takesOver follows the guide from the switch to the last wave.
func (m *migration) takesOver(t *testing.T) {
	t.Helper()
	m.follow(t, "### With Crossplane")
	m.awaitApplied(t, "first")
	notApplied := guide.Commands(t, page, "## 7. Verify")[0]
	want := []string{"/idle", "/wide-second", m.ns + "/narrow-second"}
	if diff := cmp.Diff(want, m.lines(t, notApplied)); diff != "" {
		t.Errorf("Objects of the next wave: -want, +got:\n%s", diff)
	}
	m.follow(t, "## 8. Unpause the next cluster")
	m.awaitApplied(t, "second")
	if diff := cmp.Diff([]string{"/idle"}, m.lines(t, notApplied)); diff != "" {
		t.Errorf("Objects that were paused before: -want, +got:\n%s", diff)
	}
	m.alone(t)
}

// lines returns the sorted lines that a command prints.
func (m *migration) lines(t *testing.T, command string) []string {
	t.Helper()
	return slices.Sorted(slices.Values(strings.Fields(m.shell.Run(t, command))))
}

// alone fails the test unless one provider runs, and Crossplane has installed no other for the Configuration.
func (m *migration) alone(t *testing.T) {
	t.Helper()
	want := []string{"other", "provider-kubernetes"}
	got := m.lines(t, "kubectl get providers.pkg.crossplane.io -o jsonpath='{.items[*].metadata.name}'")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Providers: -want, +got:\n%s", diff)
	}
	kube.Eventually(t, "one provider to run", func() (bool, string) {
		n := m.kubelet.Processes()
		return n == 1, strconv.Itoa(n)
	})
	m.shell.Run(t, "kubectl wait configuration.pkg.crossplane.io/platform --for=condition=Healthy --timeout=60s")
}

// awaitApplied waits until the Objects of a wave are applied by this provider, and ready.
func (m *migration) awaitApplied(t *testing.T, wave string) {
	t.Helper()
	for _, o := range m.waves[wave] {
		kube.Await(t, m.c, o, "Object "+o.GetName()+" to be applied", func() (bool, string) {
			return o.Observed().Applied != nil, o.GetCondition(xpv2.TypeSynced).Message
		})
		m.awaitReady(t, o)
	}
}

// adds makes use of what provider-kubernetes does not have: three shards and a flag.
func (m *migration) adds(t *testing.T) {
	t.Helper()
	m.shell.Run(t, `kubectl patch deploymentruntimeconfig provider-kcp --type=merge -p '{
		"spec":{"deploymentTemplate":{"spec":{"replicas":3,"template":{"spec":{"containers":[{
		"name":"package-runtime","args":["--leader-election","--shards=3",
		"--allow-cross-namespace-references"]}]}}}}}}'`)
	m.awaitHolder(t, "slots=3")
	o := m.waves["first"][0]
	kube.Patch(t, m.c, o, `{"spec":{"forProvider":{"manifest":{"data":{"color":"red"}}}}}`)
	m.awaitData(t, "wide-first", "red")
}

// awaitHolder waits until the holder of the Lease begins with a text.
func (m *migration) awaitHolder(t *testing.T, begin string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: build.Meta(local.CrossplaneNamespace, gate)}
	kube.Await(t, m.c, lease, "the holder of the Lease to begin with "+begin, func() (bool, string) {
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		return strings.HasPrefix(holder, begin), holder
	})
}

const gate = "crossplane-leader-election-provider-kubernetes"

// goesBack follows the guide back to provider-kubernetes, which keeps all Objects again.
func (m *migration) goesBack(t *testing.T) {
	t.Helper()
	m.follow(t, "## Go back")
	m.follow(t, "### Back with Crossplane")
	for _, o := range m.all() {
		cm := &corev1.ConfigMap{ObjectMeta: build.Meta(m.ns, o.GetName())}
		kube.Await(t, m.tc, cm, "provider-kubernetes to keep "+o.GetName(), func() (bool, string) {
			return cm.GetLabels()[commonv1.LabelKeyManaged] == "", "it has the label of this provider"
		})
		m.awaitReady(t, o)
	}
	m.awaitData(t, "wide-first", "red")
	m.alone(t)
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
