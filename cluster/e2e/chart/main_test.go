package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// top is the folder of the sources.
var top = filepath.Join("..", "..", "..")

var (
	service    = kube.Server{ControllerManager: true}
	workspaces kcp.Server
)

// images is where charts and images are pushed to.
var images oci.Registry

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &images, service.WithNodes(), &workspaces)) }

// buildChart builds the chart in a version into a folder, and returns its path.
func buildChart(t *testing.T, version, dir string) string {
	t.Helper()
	c := exec.Command("make", "--no-print-directory", "chart", "VERSION="+version, "CHART="+dir)
	c.Dir = top
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("cannot build chart: %v\n%s", err, out)
	}
	return filepath.Join(dir, "provider-kcp-"+strings.TrimPrefix(version, "v")+".tgz")
}

// pushImage makes the image of the built provider, and pushes it under some tags.
func pushImage(t *testing.T, repository string, tags ...string) {
	t.Helper()
	tar := filepath.Join(t.TempDir(), "image.tar")
	build := exec.Command("go", "run", "./cluster/images", "--program="+filepath.Join("_output", "bin", "provider"),
		"--arch="+runtime.GOARCH, "--version="+tags[0], "--out="+tar)
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot make image: %v\n%s", err, out)
	}
	img, err := tarball.ImageFromPath(tar, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		ref, err := name.ParseReference(repository + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, img); err != nil {
			t.Fatalf("cannot push image: %v", err)
		}
	}
}

// helm runs Helm, and returns what it prints.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := local.Binary("helm")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, args...)
	c.Env = append(os.Environ(), "KUBECONFIG=/dev/null")
	out, err := c.CombinedOutput()
	return string(out), err
}
