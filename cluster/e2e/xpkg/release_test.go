package xpkg

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// TestRelease makes a release from a copy of the sources, and pushes it to a registry on loopback. Another copy makes
// the same files and the same digests.
func TestRelease(t *testing.T) {
	const version = "v1.2.3"
	sources := copySources(t)
	for _, bad := range []struct{ version, want string }{
		{"1.2.3", "VERSION=1.2.3 is no semantic version such as v1.2.3"},
		{version, "CHANGELOG.md has no section [1.2.3]"},
	} {
		if out, err := release(sources, bad.version, t.TempDir()); err == nil || !strings.Contains(out, bad.want) {
			t.Errorf("release %s: want an error that says %q, got %v:\n%s", bad.version, bad.want, err, out)
		}
	}
	content, digests := released(t, sources, version)
	again, digestsAgain := released(t, copySources(t), version)
	for name := range content {
		if !bytes.Equal(content[name], again[name]) {
			t.Errorf("%s: the same sources made another file", name)
		}
	}
	if diff := cmp.Diff(digests, digestsAgain); diff != "" {
		t.Errorf("digests in the registry: -first, +second release of the same sources:\n%s", diff)
	}

	want := []string{
		"SHA256SUMS", "notes.md", "provider-kcp-1.2.3.tgz", "provider-kcp-v1.2.3-amd64.xpkg",
		"provider-kcp-v1.2.3-arm64.xpkg", "provider-kcp-v1.2.3-crds.yaml",
		"provider-kcp-v1.2.3-darwin-amd64", "provider-kcp-v1.2.3-darwin-amd64.spdx.json",
		"provider-kcp-v1.2.3-darwin-arm64", "provider-kcp-v1.2.3-darwin-arm64.spdx.json", "provider-kcp-v1.2.3-images.txt",
		"provider-kcp-v1.2.3-linux-amd64", "provider-kcp-v1.2.3-linux-amd64.spdx.json",
		"provider-kcp-v1.2.3-linux-arm64", "provider-kcp-v1.2.3-linux-arm64.spdx.json",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(content))); diff != "" {
		t.Errorf("files of the release: -want, +got:\n%s", diff)
	}
	if !bytes.Equal(content["provider-kcp-v1.2.3-"+runtime.GOARCH+".xpkg"], buildIn(t, top)) {
		t.Error("the package of the release differs from the one that make xpkg builds")
	}
	if got := strings.TrimSpace(string(content["notes.md"])); got != "- [Notes](https://github.com/crossplane-contrib/"+
		"provider-kcp/blob/v1.2.3/docs/how-to/install.md) of this version." {
		t.Errorf("notes: want those of the version only, with links to its files, got %q", got)
	}
	if got := strings.Count(string(content["provider-kcp-v1.2.3-crds.yaml"]),
		"\nkind: CustomResourceDefinition\n"); got != len(packagedKinds(t)) {
		t.Errorf("kinds in one file: want %d, got %d", len(packagedKinds(t)), got)
	}
	var listed strings.Builder
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		listed.WriteString(name + "@" + digests[name] + "\n")
	}
	if diff := cmp.Diff(listed.String(), string(content["provider-kcp-v1.2.3-images.txt"])); diff != "" {
		t.Errorf("images: -in the registry, +in the list:\n%s", diff)
	}
	program := "provider-kcp-v1.2.3-linux-" + runtime.GOARCH
	listsModules(t, content[program+".spdx.json"], content[program])
}

// release makes a release in a folder of sources, and pushes it.
func release(sources, version, folder string) (string, error) {
	return makeIn(sources, "release", "VERSION="+version, "RELEASE="+folder, "REGISTRY="+images.Host+"/organisation")
}

// released makes a release, and returns its files by name and the digests of what is in the registry. It shows that the
// checksums are those of all files.
func released(t *testing.T, sources, version string) (content map[string][]byte, digests map[string]string) {
	t.Helper()
	writeNotes(t, sources)
	folder := filepath.Join(t.TempDir(), "release")
	if out, err := release(sources, version, folder); err != nil {
		t.Fatalf("make release: %v\n%s", err, out)
	}
	content, digests = readAll(t, folder), map[string]string{}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(content)-1 {
		t.Errorf("checksums: %v\n%s", err, out)
	}
	for _, image := range []string{"provider-kcp:v1.2.3", "charts/provider-kcp:1.2.3"} {
		ref, err := name.ParseReference(images.Host + "/organisation/" + image)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Get(ref)
		if err != nil {
			t.Fatalf("%s is not in the registry: %v", image, err)
		}
		digests[image] = got.Digest.String()
		if err := remote.Delete(ref); err != nil { // so that another release pushes it
			t.Fatal(err)
		}
	}
	return content, digests
}

// writeNotes makes the changelog have a version beside others.
func writeNotes(t *testing.T, sources string) {
	t.Helper()
	const notes = "# Changelog\n\n## [Unreleased]\n- Later.\n\n## [1.2.3] - 2026-01-01\n" +
		"- [Notes](docs/how-to/install.md) of this version.\n\n## [1.2.2] - 2025-01-01\n- Earlier.\n"
	if err := os.WriteFile(filepath.Join(sources, "CHANGELOG.md"), []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readAll returns the content of the files of a folder by name.
func readAll(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, e := range entries {
		if content[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

// listsModules shows that a bill of materials is that of a program in its version, and lists what it is made of.
func listsModules(t *testing.T, bill, program []byte) {
	t.Helper()
	type checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	var got struct {
		Version  string `json:"spdxVersion"`
		Packages []struct {
			Name      string     `json:"name"`
			Version   string     `json:"versionInfo"`
			Checksums []checksum `json:"checksums"`
		} `json:"packages"`
		Relationships []any `json:"relationships"`
	}
	if err := json.Unmarshal(bill, &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "SPDX-2.3" || len(got.Packages) == 0 || len(got.Relationships) != len(got.Packages) {
		t.Fatalf("want a bill of SPDX with as many packages as relationships: %.1000s", bill)
	}
	listed := map[string]string{}
	for _, p := range got.Packages {
		listed[p.Name] = p.Version
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{info.Main.Path: "v1.2.3", "stdlib": strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want[m.Path] = m.Version
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("bill of materials: -what the program is made of, +what is listed:\n%s", diff)
	}
	sum := sha256.Sum256(program)
	if diff := cmp.Diff([]checksum{{"SHA256", hex.EncodeToString(sum[:])}}, got.Packages[0].Checksums); diff != "" {
		t.Errorf("checksums of the program: -want, +got:\n%s", diff)
	}
}

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
