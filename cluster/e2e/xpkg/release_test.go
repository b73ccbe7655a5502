package xpkg

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
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
		"provider-kcp/blob/v1.2.3/docs/install.md) of this version." {
		t.Errorf("notes: want those of the version only, with links to its files, got %q", got)
	}
	if got := strings.Count(string(content["provider-kcp-v1.2.3-crds.yaml"]),
		"\nkind: CustomResourceDefinition\n"); got != len(packagedKinds(t)) {
		t.Errorf("kinds in one file: want %d, got %d", len(packagedKinds(t)), got)
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
		"- [Notes](docs/install.md) of this version.\n\n## [1.2.2] - 2025-01-01\n- Earlier.\n"
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
