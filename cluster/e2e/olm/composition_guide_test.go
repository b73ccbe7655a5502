package olm

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// compositionGuide shows how to write a Composition.
var compositionGuide = filepath.Join(top, "docs", "tutorials", "composition.md")

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
	testguide.Shell

	ran int // blocks of commands
}

// TestCompositions runs the commands of the guide of Compositions as they are written.
func TestCompositions(t *testing.T) {
	s := newSite(t)
	crossplane.Start(t, local.StartCrossplane, s.server.Config())
	host := crossplane.StartRegistry(t)
	crossplane.RunFunctions(t, s.c, host)
	kube.RunScheduler(t, target.User(t, "scheduler", admins), nodeName)
	start(t, s.server)
	g := newComposer(t, s, host)
	g.Run(t, testguide.Commands(t, filepath.Join(top, "README.md"), "## A first Object")[0])
	g.follow(t, "## Before you begin")
	g.follow(t, "## Define the API")
	g.wantTree(t, g.follow(t, "## Create an App"))
	g.wantAddress(t, g.follow(t, "## Connection Secret"))
	g.follow(t, "## Order")
	if out := g.follow(t, "## Test without a cluster"); !strings.Contains(out,
		"Total 4 resources: 0 missing schemas, 4 success cases, 0 failure cases") {
		t.Errorf("want an App and three Objects to be valid, got:\n%s", out)
	}
	m := target.Audit(t).Mark()
	g.follow(t, "## Clean up")
	wantReverse(t, target.Audit(t).Since(m).By("provider"), "shop-web", "shop-api")
	g.wantNothing(t)
	if all := len(commandBlock.FindAllString(text(t, compositionGuide), -1)); g.ran != all {
		t.Errorf("blocks of commands: want all %d to be run, got %d", all, g.ran)
	}
}

// newComposer prepares what the guide needs: its files, with functions that are in the registry and run here already,
// and tools configured for the control plane.
func newComposer(t *testing.T, s *site, host string) *composer {
	t.Helper()
	g := &composer{site: s, Shell: testguide.NewShell(t, s.server.Config(), filepath.Join(top, "package"))}
	compositions := filepath.Join(g.Dir, "examples", "compositions")
	if err := os.CopyFS(compositions, os.DirFS(filepath.Join(top, "examples", "compositions"))); err != nil {
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
	bin := t.TempDir()
	g.Write(t, "remote.kubeconfig", kube.Kubeconfig(t, asUser(t, &target)))
	g.Write(t, filepath.Join(bin, "crossplane"), []byte(`#!/bin/sh
[ "$1 $2" != "beta validate" ] || set -- "$@" --crossplane-image=`+schemas+`
exec `+crank+` "$@"
`))
	g.Env = append(g.Env, "PATH="+strings.Join([]string{bin, filepath.Dir(crank), os.Getenv("PATH")}, ":"), "HOME="+bin)
	functions := filepath.Join(compositions, "functions.yaml")
	g.Write(t, functions, []byte(runningHere(t, text(t, functions), host)))
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
	blocks := testguide.Commands(t, compositionGuide, heading)
	g.ran += len(blocks)
	return g.RunAll(t, blocks)
}

// wantTree fails the test unless a trace is what the guide shows, and each other excerpt is a part of a Composition.
func (g *composer) wantTree(t *testing.T, trace string) {
	t.Helper()
	sources := []string{dense(trace)}
	for _, f := range []string{"patches.yaml", "templates.yaml"} {
		sources = append(sources, dense(text(t, filepath.Join(g.Dir, "examples", "compositions", f))))
	}
	excerpts := indented.FindAllString(text(t, compositionGuide), -1)
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
	shown := g.Run(t, "kubectl get apps.platform.example.org/web -n shop -o jsonpath={.status.address}")
	if host != svc.Spec.ClusterIP || shown != host {
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
	for _, name := range []string{"shop-web", "shop-api", "platform-north"} {
		kube.AwaitGone(t, g.tc, &corev1.Namespace{ObjectMeta: build.Meta("", name)})
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
