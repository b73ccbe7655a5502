package olm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// compositionGuide shows how to write a Composition.
var compositionGuide = filepath.Join(top, "docs", "compositions.md")

// top is the folder of the sources.
var top = filepath.Join("..", "..", "..")

var (
	// commandBlock is where a block of commands begins in Markdown.
	commandBlock = regexp.MustCompile("(?m)^```sh$")
	// indented is a block of text in Markdown.
	indented = regexp.MustCompile(`(?m)(?:^    .*\n)+`)
	// image is the package of a function.
	image = regexp.MustCompile(`xpkg\.crossplane\.io/(\S+):\S+`)
	// named is the name of a function.
	named  = regexp.MustCompile(`(?m)^  name: (\S+)\n`)
	spaces = regexp.MustCompile(` +`)
)

// A composer follows the guide of Compositions.
type composer struct {
	*site

	dir string // the working directory, with the files that the guide needs
	env []string
	ran int // blocks of commands
}

// followsGuide runs the commands of the guide of Compositions as they are written.
func (s *site) followsGuide(t *testing.T, host string) {
	g := newComposer(t, s, host)
	g.runBlocks(t, testguide.Commands(t, filepath.Join(top, "README.md"), "## A first Object")[:1])
	g.ran = 0
	g.follow(t, "## You need")
	g.follow(t, "## Define the kind")
	g.follow(t, "## Ask for an App")
	g.wantTree(t, g.last(t, "## Ask for an App"))
	g.wantAddress(t, g.follow(t, "### Connection Secret"))
	if out := g.follow(t, "## Try a Composition without a control plane"); !strings.Contains(out,
		"Total 4 resources: 0 missing schemas, 4 success cases, 0 failure cases") {
		t.Errorf("want an App and three Objects to be valid, got:\n%s", out)
	}
	g.follow(t, "## The same by templates")
	g.follow(t, "## A ProviderConfig in a Composition")
	g.follow(t, "## Change")
	m := target.Audit(t).Mark()
	g.follow(t, "## Delete")
	wantReverse(t, target.Audit(t).Since(m).By("provider"), "shop-web", "shop-api")
	g.follow(t, "## Remove all of it")
	g.wantNothing(t)
	if all := len(commandBlock.FindAllString(g.text(t), -1)); g.ran != all {
		t.Errorf("blocks of commands: want all %d to be run, got %d", all, g.ran)
	}
}

// newComposer prepares what the guide needs: its files, with functions that are in the registry and run here already,
// and tools configured for the control plane.
func newComposer(t *testing.T, s *site, host string) *composer {
	t.Helper()
	bin := t.TempDir()
	g := &composer{site: s, dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(g.dir, "examples", "compositions"),
		os.DirFS(filepath.Join(top, "examples", "compositions"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(g.dir, "package", "crds"),
		os.DirFS(filepath.Join(top, "package", "crds"))); err != nil {
		t.Fatal(err)
	}
	crank, err := local.Binary("crank")
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := local.Data("crossplane", "crossplane-cluster")
	if err != nil {
		t.Fatal(err)
	}
	schemas := host + "/crossplane/crossplane:v2.4.0"
	oci.Push(t, schemas, os.DirFS(kinds))
	g.write(t, filepath.Join(g.dir, "remote.kubeconfig"), string(kube.Kubeconfig(t, asUser(t, &target))))
	g.write(t, filepath.Join(bin, "crossplane"), `#!/bin/sh
[ "$1 $2" != "beta validate" ] || set -- "$@" --crossplane-image=`+schemas+`
exec `+crank+` "$@"
`)
	g.env = append(os.Environ(), "PATH="+strings.Join([]string{bin, filepath.Dir(crank), os.Getenv("PATH")}, ":"),
		"KUBECONFIG="+s.kubeconfig, "HOME="+bin)
	functions := filepath.Join(g.dir, "examples", "compositions", "functions.yaml")
	g.write(t, functions, runningHere(t, g.read(t, functions), host))
	return g
}

// runningHere returns the file of functions as it is for the registry, and for functions that listen without
// certificates, which the command crossplane asks.
func runningHere(t *testing.T, functions, host string) string {
	t.Helper()
	at := crossplane.ServeFunctions(t)
	return named.ReplaceAllStringFunc(image.ReplaceAllString(functions, host+"/$1:v1.0.0"), func(line string) string {
		return line + "  annotations:\n    render.crossplane.io/runtime: Development\n" +
			"    render.crossplane.io/runtime-development-target: " + at[named.FindStringSubmatch(line)[1]] + "\n"
	})
}

// follow runs the commands under a heading, and returns what they print.
func (g *composer) follow(t *testing.T, heading string) string {
	t.Helper()
	return g.runBlocks(t, testguide.Commands(t, compositionGuide, heading))
}

func (g *composer) runBlocks(t *testing.T, blocks []string) string {
	t.Helper()
	var all strings.Builder
	for _, b := range blocks {
		began := time.Now()
		out, err := g.try(b)
		if err != nil {
			t.Fatalf("%v:\n%s\n%s", err, b, out)
		}
		t.Logf("%sin %s:\n%s", b, time.Since(began).Round(time.Millisecond), out)
		all.WriteString(out)
		g.ran++
	}
	return all.String()
}

// last runs the last commands under a heading once more, and returns what they print.
func (g *composer) last(t *testing.T, heading string) string {
	t.Helper()
	blocks := testguide.Commands(t, compositionGuide, heading)
	out, err := g.try(blocks[len(blocks)-1])
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// try runs commands, and returns what they print.
func (g *composer) try(commands string) (string, error) {
	c := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Env = g.dir, g.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// wantTree fails the test unless a trace is what the guide shows, and each other excerpt is a part of a Composition.
func (g *composer) wantTree(t *testing.T, trace string) {
	t.Helper()
	sources := []string{dense(trace)}
	for _, f := range []string{"patches.yaml", "templates.yaml"} {
		sources = append(sources, dense(g.read(t, filepath.Join(g.dir, "examples", "compositions", f))))
	}
	excerpts := indented.FindAllString(g.text(t), -1)
	if len(excerpts) == 0 {
		t.Error("the guide shows nothing")
	}
	for _, e := range excerpts {
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, dense(e)) }) {
			t.Errorf("neither a Composition nor the trace has this:\n%s%s", e, trace)
		}
	}
}

// dense returns a text with single spaces, and none where a line begins.
func dense(text string) string {
	return strings.ReplaceAll("\n"+spaces.ReplaceAllString(text, " "), "\n ", "\n")
}

// wantAddress fails the test unless an App shows the address of its Service, and its connection Secret has it.
func (g *composer) wantAddress(t *testing.T, host string) {
	t.Helper()
	svc := &corev1.Service{}
	kube.Get(t, g.tc, client.ObjectKey{Namespace: "shop-web", Name: "web"}, svc)
	shown, err := g.try("kubectl get apps.platform.example.org/web -n shop -o jsonpath={.status.address}")
	if err != nil || host != svc.Spec.ClusterIP || shown != host {
		t.Errorf("address of the Service: want %s, got %q in the Secret and %q in the status", svc.Spec.ClusterIP, host,
			shown)
	}
}

// wantReverse fails the test unless a Namespace was deleted after what is in it.
func wantReverse(t *testing.T, requests kube.Requests, namespaces ...string) {
	t.Helper()
	for _, ns := range namespaces {
		var order []string
		for _, r := range requests {
			if r.Verb == "delete" && (r.Namespace == ns || r.Name == ns) && !slices.Contains(order, r.Resource) {
				order = append(order, r.Resource)
			}
		}
		if len(order) != 3 || order[2] != "namespaces" {
			t.Errorf("deletion of what is in %s: want the namespace to be last, got %v", ns, order)
		}
	}
}

// wantNothing fails the test if anything of the guide is left.
func (g *composer) wantNothing(t *testing.T) {
	t.Helper()
	for _, name := range []string{"shop-web", "shop-api"} {
		kube.Eventually(t, name+" to be gone", func() (bool, string) {
			err := g.tc.Get(t.Context(), client.ObjectKey{Name: name}, &corev1.Namespace{ObjectMeta: build.Meta("", name)})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
}

func (g *composer) text(t *testing.T) string {
	t.Helper()
	return g.read(t, compositionGuide)
}

func (*composer) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (*composer) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}
