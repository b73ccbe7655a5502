package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A guide runs the commands of a page of docs/ as they are written.
type guide struct {
	path string
	dir  string // the working directory, with the files that the guide needs
	env  []string
}

// newGuide prepares what the guide needs: two versions of the chart in a registry, and tools configured for the control
// plane. Its Helm sets a short Lease, because a new release waits for a Lease that was not released.
func newGuide(t *testing.T, file string) *guide {
	t.Helper()
	g := &guide{path: filepath.Join(top, "docs", file), dir: t.TempDir()}
	registry := host + "/crossplane-contrib"
	for _, v := range []string{"v0.1.0", "v0.2.0"} {
		chart := buildChart(t, v, t.TempDir())
		if out, err := helm(t, "push", "--plain-http", chart, "oci://"+registry+"/charts"); err != nil {
			t.Fatalf("cannot push chart: %v\n%s", err, out)
		}
	}
	tools, err := local.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	g.write(t, filepath.Join(bin, "helm"), `#!/bin/sh
case $1 in
install | upgrade) set -- "$@" --plain-http --timeout=60s \
	--set leaderElection.leaseDuration=5s,leaderElection.renewDeadline=4s,leaderElection.retryPeriod=500ms ;;
esac
exec `+filepath.Join(tools, "helm")+` "$@"
`)
	kubeconfig := filepath.Join(bin, "kubeconfig")
	g.write(t, kubeconfig, string(kube.Kubeconfig(t, service.Config())))
	g.env = append(os.Environ(), "PATH="+strings.Join([]string{bin, tools, os.Getenv("PATH")}, ":"),
		"REGISTRY="+registry, "KUBECONFIG="+kubeconfig,
		"HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
	return g
}

// write writes a file. A relative path is relative to the folder of the guide.
func (g *guide) write(t *testing.T, path, content string) {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.dir, path)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// commands returns the blocks of commands under a heading.
func (g *guide) commands(t *testing.T, heading string) []string {
	t.Helper()
	return testguide.Commands(t, g.path, heading)
}

// run runs commands.
func (g *guide) run(t *testing.T, commands string) {
	t.Helper()
	began := time.Now()
	out, err := g.try(commands)
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
	t.Logf("%s in %s", commands, time.Since(began))
}

// try runs commands, and returns what they print.
func (g *guide) try(commands string) (string, error) {
	c := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Env = g.dir, g.env
	out, err := c.CombinedOutput()
	return string(out), err
}
