package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
)

// A guide runs the commands of a page of docs/ as they are written.
type guide struct {
	testguide.Shell

	page string
}

// newGuide prepares what the guide needs: two versions of the chart in a registry, and tools configured for the control
// plane. Its Helm sets a short Lease, because a new release waits for a Lease that was not released.
func newGuide(t *testing.T, file string) *guide {
	t.Helper()
	g := &guide{Shell: testguide.NewShell(t, service.Config()), page: filepath.Join(top, "docs", file)}
	registry := images.Host + "/crossplane-contrib"
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
	g.Write(t, filepath.Join(bin, "helm"), []byte(`#!/bin/sh
case $1 in
install | upgrade) set -- "$@" --plain-http --timeout=60s \
	--set leaderElection.leaseDuration=5s,leaderElection.renewDeadline=4s,leaderElection.retryPeriod=500ms ;;
esac
exec `+filepath.Join(tools, "helm")+` "$@"
`))
	g.Env = append(g.Env, "PATH="+strings.Join([]string{bin, tools, os.Getenv("PATH")}, ":"), "REGISTRY="+registry,
		"HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
	return g
}

// commands returns the blocks of commands under a heading.
func (g *guide) commands(t *testing.T, heading string) []string {
	t.Helper()
	return testguide.Commands(t, g.page, heading)
}

// follow runs the commands under a heading.
func (g *guide) follow(t *testing.T, heading string) {
	t.Helper()
	g.Run(t, strings.Join(g.commands(t, heading), "\n"))
}
