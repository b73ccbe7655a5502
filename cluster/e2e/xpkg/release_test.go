package xpkg

import (
	"bytes"
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

// TestRelease makes a release from a copy of the sources, and pushes it to a registry on loopback.
func TestRelease(t *testing.T) {
	const version = "v1.2.3"
	sources, folder := copySources(t), filepath.Join(t.TempDir(), "release")
	run := func(args ...string) (string, error) {
		cmd := exec.Command("make", append([]string{
			"--no-print-directory", "ARCHES=" + runtime.GOARCH, "RELEASE=" + folder, "REGISTRY=" + host + "/organisation",
		}, args...)...)
		cmd.Dir = sources
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, bad := range []struct{ version, want string }{
		{"1.2.3", "VERSION=1.2.3 is no semantic version such as v1.2.3"},
		{version, "CHANGELOG.md has no section [1.2.3]"},
	} {
		if out, err := run("release", "VERSION="+bad.version); err == nil || !strings.Contains(out, bad.want) {
			t.Errorf("release %s: want an error that says %q, got %v:\n%s", bad.version, bad.want, err, out)
		}
	}
	writeNotes(t, sources)
	for _, target := range []string{"release", "release.push"} {
		if out, err := run(target, "VERSION="+version); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}

	pkg := "provider-kcp-v1.2.3-" + runtime.GOARCH
	content := readAll(t, folder)
	want := []string{"SHA256SUMS", "notes.md", "provider-kcp-1.2.3.tgz", pkg + ".cdx.json", pkg + ".xpkg"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(content))); diff != "" {
		t.Errorf("files of the release: -want, +got:\n%s", diff)
	}
	if !bytes.Equal(content[pkg+".xpkg"], buildIn(t, top)) {
		t.Error("the package of the release differs from the one that make xpkg builds")
	}
	if got := strings.TrimSpace(string(content["notes.md"])); got != "- Notes of this version." {
		t.Errorf("notes: want those of the version only, got %q", got)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(want)-1 {
		t.Errorf("checksums: %v\n%s", err, out)
	}
	listsModules(t, content[pkg+".cdx.json"], "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "std")
	for _, image := range []string{"provider-kcp:v1.2.3", "charts/provider-kcp:1.2.3"} {
		ref, err := name.ParseReference(host + "/organisation/" + image)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Get(ref); err != nil {
			t.Errorf("%s is not in the registry: %v", image, err)
		}
	}
}

// writeNotes makes the changelog have a version beside others.
func writeNotes(t *testing.T, sources string) {
	t.Helper()
	const notes = "# Changelog\n\n## [Unreleased]\n- Later.\n\n## [1.2.3] - 2026-01-01\n- Notes of this version.\n\n" +
		"## [1.2.2] - 2025-01-01\n- Earlier.\n"
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

// listsModules shows that a bill of materials is that of the version, and lists modules.
func listsModules(t *testing.T, bill []byte, modules ...string) {
	t.Helper()
	type component struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var got struct {
		Format   string `json:"bomFormat"`
		Metadata struct {
			Component component `json:"component"`
		} `json:"metadata"`
		Components []component `json:"components"`
	}
	if err := json.Unmarshal(bill, &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("bill of materials: want one of CycloneDX of v1.2.3, got %s of %s", got.Format,
			got.Metadata.Component.Version)
	}
	for _, module := range modules {
		if !slices.ContainsFunc(got.Components, func(c component) bool {
			return c.Name == module && c.Version != ""
		}) {
			t.Errorf("the bill of materials lacks %s", module)
		}
	}
}
