// Package oci runs registries for tests, and pushes images to them. It is for _test.go files only.
package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// A Registry is a registry on loopback. It is a Starter of package local.
type Registry struct {
	Host string // its address, as names of images begin with it
}

// Start starts the registry.
func (r *Registry) Start(context.Context) (stop func() error, err error) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	r.Host = strings.TrimPrefix(s.URL, "http://")
	return func() error { s.Close(); return nil }, nil
}

// Push pushes an image of one layer with some files, to the registry that its name begins with.
func Push(tb testing.TB, image string, files fs.FS) {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(files); err != nil {
		tb.Fatalf("cannot add files to layer: %v", err)
	}
	if err := w.Close(); err != nil {
		tb.Fatalf("cannot end layer: %v", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error,
	) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	})
	if err != nil {
		tb.Fatalf("cannot make layer: %v", err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		tb.Fatalf("cannot add layer: %v", err)
	}
	// Crossplane's command wants an image with labels.
	if img, err = mutate.Config(img, v1.Config{Labels: map[string]string{"for": "tests"}}); err != nil {
		tb.Fatalf("cannot label image: %v", err)
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		tb.Fatalf("cannot parse name of image: %v", err)
	}
	if err := remote.Write(ref, img); err != nil {
		tb.Fatalf("cannot push image: %v", err)
	}
}
