package main

import (
	"archive/tar"
	"bytes"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/pkg/errors"
)

const (
	// programName is the one file of the image, in its root.
	programName = "provider"
	// nobody is the user and the group of images without users. A cluster may run the provider as any other.
	nobody = "65532:65532"
	source = "https://github.com/crossplane-contrib/provider-kcp"
)

// build makes an image of a program for Linux on an architecture.
func build(program []byte, arch, version string) (v1.Image, error) {
	files, err := files(program)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make layer")
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, errors.Wrap(err, "cannot add layer")
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, errors.Wrap(err, "cannot get configuration of image")
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture = "linux", arch
	cf.Config = v1.Config{
		Entrypoint: []string{"/" + programName},
		User:       nobody,
		WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "provider-kcp",
			"org.opencontainers.image.source":   source,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version":  version,
		},
	}
	img, err = mutate.ConfigFile(img, cf)
	return img, errors.Wrap(err, "cannot set configuration of image")
}

// files returns the archive of all files of the image. It says nothing of when they were made.
func files(program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := &tar.Header{Name: programName, Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(header); err != nil {
		return nil, errors.Wrap(err, "cannot write header of program")
	}
	if _, err := w.Write(program); err != nil {
		return nil, errors.Wrap(err, "cannot write program")
	}
	return b.Bytes(), errors.Wrap(w.Close(), "cannot finish archive")
}
