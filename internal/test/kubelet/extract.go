package kubelet

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/pkg/errors"
)

// extract writes the files of an image to a folder.
func extract(img v1.Image, dir string) error {
	files := mutate.Extract(img)
	defer files.Close() //nolint:errcheck // It has been read.
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "cannot read image")
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return errors.Wrap(err, "cannot make folder of image")
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, h.FileInfo().Mode().Perm())
		if err != nil {
			return errors.Wrap(err, "cannot create file of image")
		}
		if _, err := io.Copy(f, r); err != nil {
			return errors.Wrap(err, "cannot write file of image")
		}
		if err := f.Close(); err != nil {
			return errors.Wrap(err, "cannot close file of image")
		}
	}
}
