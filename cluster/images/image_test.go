package main

import (
	"archive/tar"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestImage shows what is in an image that was written and read again.
func TestImage(t *testing.T) {
	img, err := build([]byte("a program"), "arm64", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := write(img, path); err != nil {
		t.Fatal(err)
	}
	if img, err = tarball.ImageFromPath(path, nil); err != nil {
		t.Fatal(err)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Platform, User, Version string
		Entrypoint, Args        []string
		Timeless                bool
	}
	want := facts{
		Platform: "linux/arm64", User: "65532:65532", Version: "v1.2.3", Entrypoint: []string{"/provider"}, Timeless: true,
	}
	got := facts{
		Platform: cf.Platform().String(), User: cf.Config.User,
		Version:    cf.Config.Labels["org.opencontainers.image.version"],
		Entrypoint: cf.Config.Entrypoint, Args: cf.Config.Cmd, Timeless: cf.Created.IsZero(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration: -want, +got:\n%s", diff)
	}
	files := mutate.Extract(img)
	defer files.Close()
	r := tar.NewReader(files)
	h, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if h.Name != "provider" || h.FileInfo().Mode().Perm() != 0o755 || string(content) != "a program" {
		t.Errorf("want a program that anybody can run, got %s %s %q", h.Name, h.FileInfo().Mode(), content)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error("there are more files than the program")
	}
}
