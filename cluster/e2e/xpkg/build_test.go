package xpkg

import (
	"archive/tar"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// top is the folder of the sources.
var top = filepath.Join("..", "..", "..")

// copySources copies the sources to a new folder, and returns that.
func copySources(t *testing.T) string {
	t.Helper()
	copied := t.TempDir()
	if out, err := exec.Command("sh", "-c",
		`cd "$1" && git ls-files -z --cached --others --exclude-standard | `+
			`tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$2"`, "sh", top, copied).
		CombinedOutput(); err != nil {
		t.Fatalf("cannot copy sources: %v\n%s", err, out)
	}
	return copied
}

// makeIn makes targets in a folder of sources, and returns what that prints.
func makeIn(dir string, args ...string) (string, error) {
	c := exec.Command("make", append([]string{"--no-print-directory"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// buildIn builds the package in a folder of sources, and returns it.
func buildIn(t *testing.T, dir string) []byte {
	t.Helper()
	out := t.TempDir()
	if said, err := makeIn(dir, "xpkg."+runtime.GOARCH, "VERSION=v1.2.3", "XPKG="+out); err != nil {
		t.Fatalf("cannot build package: %v\n%s", err, said)
	}
	b, err := os.ReadFile(filepath.Join(out, "provider-kcp-"+runtime.GOARCH+".xpkg"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLayers shows what is in the package beside the program. The linter of Crossplane has seen it, or there would be
// none.
func TestLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "package")
	if err := os.WriteFile(path, buildIn(t, top), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	r := mutate.Extract(img)
	defer r.Close()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(b)
	}
	crds := packagedKinds(t)
	if n := strings.Count(files["package.yaml"], "\nkind: CustomResourceDefinition\n"); n != len(crds) {
		t.Errorf("kinds in the package: want %d, got %d", len(crds), n)
	}
	_, about, _ := strings.Cut(files["package.yaml"], "meta.crossplane.io/readme:")
	for _, crd := range crds {
		if kind := "`" + crd.Spec.Names.Kind + "`"; !strings.Contains(about, kind) {
			t.Errorf("the readme of the package does not say %s", kind)
		}
	}
	for _, part := range []string{
		"- safe-start", "meta.crossplane.io/maintainer:", "meta.crossplane.io/source:", "meta.crossplane.io/license:",
		"meta.crossplane.io/iconURI: data:image/svg+xml;base64,",
	} {
		if !strings.Contains(files["package.yaml"], part) {
			t.Errorf("the package does not say %q", part)
		}
	}
	if !strings.Contains(files[".up/examples.yaml"], "kind: Object\n") {
		t.Error("there is no example of an Object in the package")
	}
}

// packagedKinds returns the CustomResourceDefinitions of the package.
func packagedKinds(t *testing.T) (all []apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, "package", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find definitions: %v", err)
	}
	for _, f := range files {
		crd := apiextensionsv1.CustomResourceDefinition{}
		b, err := os.ReadFile(f)
		if err == nil {
			err = yaml.Unmarshal(b, &crd)
		}
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, crd)
	}
	return all
}

// What the validation says: of all resources, and of one that it cannot judge, with its group. Our groups and those of
// Crossplane it must know, but for those of what is no kind that a cluster serves: the description of a package, which
// crossplane xpkg build has a look at, and the inputs of functions.
var (
	verdict  = regexp.MustCompile(`Total (\d+) resources: (\d+) missing schemas, (\d+) success cases, (\d+) failure cases`)
	unknown  = regexp.MustCompile(`could not find CRD/XRD for: ([^/\s]+)/.*`)
	ours     = regexp.MustCompile(`crossplane\.io$|^syncagent\.kcp\.io$|^capabilities\.|^platform\.example\.org$`)
	unserved = map[string]bool{
		"meta.pkg.crossplane.io": true, "pt.fn.crossplane.io": true, "gotemplating.fn.crossplane.io": true,
		"function-status-transformer.fn.crossplane.io": true,
	}
)

// TestExamplesAreValid shows that Crossplane's own validation accepts each example.
func TestExamplesAreValid(t *testing.T) {
	crank, err := local.Binary("crank")
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := filepath.Glob(filepath.Join(top, "examples", "capabilities", "configurations", "*", "*",
		"definition.yaml"))
	if err != nil || len(definitions) == 0 {
		t.Fatalf("cannot find definitions of capabilities: %v", err)
	}
	kinds := strings.Join(append(definitions, filepath.Join(top, "examples", "compositions", "definition.yaml"),
		filepath.Join(top, "examples", "compositions", "site.yaml"),
		filepath.Join(top, "examples", "quickstart", "definition.yaml"), filepath.Join(top, "package", "crds")), ",")
	out, err := exec.Command(crank, "beta", "validate", kinds, filepath.Join(top, "examples"),
		"--crossplane-image="+pushKinds(t), "--cache-dir="+t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot validate: %v\n%s", err, out)
	}
	m := verdict.FindSubmatch(out)
	if m == nil || string(m[4]) != "0" || string(m[3]) == "0" {
		t.Errorf("want some resources, and all of them valid:\n%s", out)
	}
	for _, m := range unknown.FindAllSubmatch(out, -1) {
		if of := string(m[1]); ours.MatchString(of) && !unserved[of] {
			t.Errorf("%s: no schema of it was found", m[0])
		}
	}
}

// pushKinds pushes an image with the CustomResourceDefinitions of Crossplane, as its own image has them, and returns
// its name.
func pushKinds(t *testing.T) string {
	t.Helper()
	dir, err := local.Data("crossplane", "crossplane-cluster")
	if err != nil {
		t.Fatal(err)
	}
	image := images.Host + "/crossplane/crossplane:v2.4.0"
	oci.Push(t, image, os.DirFS(dir))
	return image
}
