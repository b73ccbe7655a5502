package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis"
	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Names of the guide for a takeover of api-syncagent.
const (
	agent          = "api-syncagent"
	agentNamespace = "kcp-system"
	agentGuide     = "how-to/migrate-from-api-syncagent.md"
)

// TestTakeOver runs the commands of docs/how-to/migrate-from-api-syncagent.md on releases of the agent and the
// provider. The agent keeps running beside the provider, the way back restores it, and its removal keeps the
// PublishedResources.
func TestTakeOver(t *testing.T) {
	g := newGuide(t, agentGuide)
	c := service.Client(t, apis.AddToScheme)
	ns := &corev1.Namespace{ObjectMeta: build.Meta("", agentNamespace)}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	installAgent(t, g)
	o := &syncagentv1alpha1.PublishedResource{ObjectMeta: build.Meta("", "certificates")}
	o.Spec.Resource.APIGroup, o.Spec.Resource.Kind = "cert-manager.io", "Certificate"
	kube.Eventually(t, "the agent's kind to be served", func() (bool, string) {
		err := c.Create(t.Context(), o)
		return err == nil, fmt.Sprint(err)
	})
	for _, heading := range []string{
		"## Save", "## Install beside the agent", "## Connect kcp",
	} {
		g.follow(t, heading)
	}
	awaitField(t, c, true)
	assertReplicas(t, c, map[string]int32{agent: 1, release: 0})

	stop, _, _ := strings.Cut(g.commands(t, "## Switch")[0], "\n")
	g.Run(t, stop)
	assertReplicas(t, c, map[string]int32{agent: 0, release: 0})
	g.Run(t, g.commands(t, "## Go back")[0])
	awaitField(t, c, false)
	assertReplicas(t, c, map[string]int32{agent: 1, release: 0})

	g.follow(t, "## Remove the agent")
	for _, gone := range []client.Object{
		&appsv1.Deployment{ObjectMeta: build.Meta(agentNamespace, agent)},
		&rbacv1.ClusterRole{ObjectMeta: build.Meta("", agent)},
		&corev1.ServiceAccount{ObjectMeta: build.Meta(agentNamespace, agent)},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T of the agent is still there: %v", gone, err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
		t.Errorf("want the PublishedResource to stay: deleted at %v, %v", o.GetDeletionTimestamp(), err)
	}
	if out, err := g.Try("helm list --namespace " + agentNamespace + " --short"); err != nil || out != release+"\n" {
		t.Errorf("want one release left, got %q: %v", out, err)
	}
	g.Run(t, `kubectl delete publishedresources --all
kubectl delete clusterproviderconfigs --all
helm uninstall provider-kcp --namespace kcp-system --wait
kubectl get crd -o name | grep -E 'kubernetes\.m\.crossplane\.io$|syncagent\.kcp\.io$' | xargs kubectl delete`)
}

// installAgent installs the release of the agent, with an older definition of PublishedResources.
func installAgent(t *testing.T, g *guide) {
	t.Helper()
	crd := packaged(t)[published]
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	unstructured.RemoveNestedField(versions[0].(map[string]any),
		"schema", "openAPIV3Schema", "properties", "spec", "properties", newField)
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	content, err := yaml.Marshal(crd.Object)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(g.Dir, "agent")
	err = os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "agent")))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "files"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.Write(t, filepath.Join(dir, "files", "crd.yaml"), content)
	g.Run(t, "helm install api-syncagent ./agent --namespace "+agentNamespace)
}

// assertReplicas fails unless Deployments are to have so many replicas.
func assertReplicas(t *testing.T, c client.Client, want map[string]int32) {
	t.Helper()
	for name, n := range want {
		d := &appsv1.Deployment{}
		kube.Get(t, c, types.NamespacedName{Namespace: agentNamespace, Name: name}, d)
		if *d.Spec.Replicas != n {
			t.Errorf("Deployment %s: want %d replicas, got %d", name, n, *d.Spec.Replicas)
		}
	}
}

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
		"VERSION=0.2.0", "HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
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
