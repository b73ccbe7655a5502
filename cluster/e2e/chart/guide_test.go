package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// shell is a block of commands in Markdown.
var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// A guide runs the commands of a page of docs/ as they are written.
type guide struct {
	text string
	dir  string // where they are run, with what the guide wants there
	env  []string
}

// newGuide prepares what the guide wants: two versions of the chart, and tools that reach the control plane. Its Helm
// says where the image is, and has a short Lease, as one that nobody has given up is waited for.
func newGuide(t *testing.T, file, image string) *guide {
	t.Helper()
	text := string(read(t, filepath.Join(top, "docs", file)))
	g := &guide{text: text, dir: t.TempDir()}
	charts := filepath.Join(g.dir, "_output", "chart")
	for _, v := range []string{"v0.1.0", "v0.2.0"} {
		buildChart(t, v, charts)
	}
	tools, err := local.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	g.write(t, filepath.Join(bin, "helm"), `#!/bin/sh
case $1 in
install | upgrade) set -- "$@" --timeout=60s --set image.repository=`+image+` \
	--set leaderElection.leaseDuration=5s,leaderElection.renewDeadline=4s,leaderElection.retryPeriod=500ms ;;
esac
exec `+filepath.Join(tools, "helm")+` "$@"
`)
	kubeconfig := filepath.Join(bin, "kubeconfig")
	g.write(t, kubeconfig, string(kube.Kubeconfig(t, service.Config())))
	g.env = append(os.Environ(), "PATH="+strings.Join([]string{bin, tools, os.Getenv("PATH")}, ":"),
		"KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
	return g
}

// write writes a file, of the folder of the guide if its path is relative.
func (g *guide) write(t *testing.T, path, content string) {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.dir, path)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// commands returns the blocks of commands under a heading, up to the next one.
func (g *guide) commands(t *testing.T, heading string) []string {
	t.Helper()
	_, section, found := strings.Cut(g.text, "\n"+heading+"\n")
	if !found {
		t.Fatalf("the guide has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var blocks []string
	for _, m := range shell.FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the guide has no commands under %q", heading)
	}
	return blocks
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
