// Command images makes the image of the provider from its program, as a tarball, without a container runtime.
//
// The image holds one file, /provider, and no system: the program is static and brings the certificates of the public
// authorities along. The same program makes the same image, to the byte: nothing in it tells when, where or by whom it
// was made.
//
// A Dockerfile was rejected because it needs a daemon and a base image, ko because it would decide how the program is
// built, which the Makefile does.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kingpin/v2"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/pkg/errors"
)

func main() {
	app := kingpin.New("images", "Makes the image of the provider.")
	program := app.Flag("program", "Path of the provider, a static program for Linux.").Required().ExistingFile()
	arch := app.Flag("arch", "Architecture of the program, as Go calls it.").Required().String()
	version := app.Flag("version", "Version of the provider.").Required().String()
	out := app.Flag("out", "Path of the tarball.").Required().String()
	kingpin.MustParse(app.Parse(os.Args[1:]))

	b, err := os.ReadFile(*program)
	app.FatalIfError(err, "cannot read program")
	img, err := build(b, *arch, *version)
	app.FatalIfError(err, "cannot make image")
	app.FatalIfError(write(img, *out), "cannot write image")
}

func write(img v1.Image, path string) error {
	f, err := os.Create(path) //nolint:gosec // Callers choose the path.
	if err != nil {
		return errors.Wrap(err, "cannot create tarball")
	}
	if err := tarball.Write(nil, img, f); err != nil {
		_ = f.Close() // The first error says more.
		return errors.Wrap(err, "cannot write tarball")
	}
	digest, err := img.Digest()
	if err != nil {
		return errors.Wrap(err, "cannot get digest of image")
	}
	fmt.Println(digest)
	return errors.Wrap(f.Close(), "cannot close tarball")
}
