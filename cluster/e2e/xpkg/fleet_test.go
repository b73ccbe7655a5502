package xpkg

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/openshift"
)

// public is the registry that examples and guides name.
const public = "xpkg.crossplane.io/crossplane-contrib"

// fleet is the guide whose commands the steps in this file run.
var fleet = filepath.Join(top, "docs", "how-to", "operate-a-fleet.md")

// mirror starts a registry that wants the user that the guide names, and returns its address. Behind it is images.
func mirror(t *testing.T) string {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: images.Host})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// mirrors prepares a control plane as the guide says, by the list of images of a release, so that what follows is
// installed under public names from a mirror that needs credentials. Its namespace admits pods as OpenShift does.
func (s *stage) mirrors(t *testing.T, host string) {
	openshift.Project(t, s.c, local.CrossplaneNamespace)
	digest, err := crane.Digest(push(t, "v0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	s.shell.Write(t, "provider-kcp-v0.1.0-images.txt", []byte("provider-kcp:v0.1.0@"+digest+"\n"))
	compile := exec.Command("go", "build", "-o", filepath.Join(s.shell.Dir, "crane"),
		"github.com/google/go-containerregistry/cmd/crane")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("cannot build crane: %v\n%s", err, out)
	}
	commands := strings.Join(guide.Commands(t, fleet, "## Air gap"), "")
	s.shell.Run(t, `export PATH=$PWD:$PATH DOCKER_CONFIG=$PWD
crane auth login `+host+` -u reader -p secret
`+strings.NewReplacer("registry.example.org/mirror\n", host+"/mirror\n", "PASSWORD", "secret").Replace(commands))
	if got, err := crane.Digest(images.Host + "/mirror/provider-kcp:v0.1.0"); err != nil || got != digest {
		t.Errorf("want the digest of the release in the mirror, %s, got %s: %v", digest, got, err)
	}
	s.shell.Env = append(s.shell.Env, "REGISTRY="+public)
}

// throughProxy shows that the provider reaches the target of a ClusterProviderConfig by the proxy that its environment
// names, and only there.
func (s *stage) throughProxy(t *testing.T) {
	const host = "target.example.org"
	var asked, others atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.URL.Hostname() != host {
			others.Add(1)
			return
		}
		asked.Add(1)
		tunnel(w, strings.TrimPrefix(target.Config().Host, "https://"))
	}))
	t.Cleanup(proxy.Close)
	cfg := target.User(t, "proxied", admins)
	cfg.ServerName, _, _ = net.SplitHostPort(strings.TrimPrefix(cfg.Host, "https://"))
	cfg.Host = "https://" + host
	spec := build.FromSecret(s.ns, "proxied")
	kube.Create(t, s.c, build.Credentials(s.ns, "proxied", kube.Kubeconfig(t, cfg)),
		build.ClusterConfig("proxied", spec), build.Namespaced().Config(s.ns, "direct", spec))
	s.shell.Run(t, `kubectl patch deploymentruntimeconfigs provider-kcp --type=json -p '[{"op": "add", "value": [
  {"name": "HTTPS_PROXY", "value": "`+proxy.URL+`"}, {"name": "NO_PROXY", "value": "127.0.0.1"}
], "path": "/spec/deploymentTemplate/spec/template/spec/containers/0/env"}]'`)
	o := build.Through(build.Namespaced().Object(s.ns, "proxied", "", build.ConfigMap(s.ns, "proxied", "color", "blue")),
		"proxied")
	kube.Create(t, s.c, o)
	s.awaitReady(t, o)
	s.awaitData(t, "proxied", "blue")
	before := asked.Load()
	direct := build.Namespaced().Object(s.ns, "direct", "direct", build.ConfigMap(s.ns, "direct"))
	kube.Create(t, s.c, direct)
	s.awaitMessage(t, direct, `cannot resolve "`+host+`"`)
	if after := asked.Load(); before == 0 || after != before || others.Load() > 0 {
		t.Errorf("connections by the proxy: want some to the target, and none of a tenant or to others, got %d, %d and %d",
			before, after-before, others.Load())
	}
	kube.Remove(t, s.c, direct)
	kube.Remove(t, s.c, o)
}

// tunnel connects the client of a request with an address.
func tunnel(w http.ResponseWriter, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
	_ = conn.Close()
}

// runsTwo shows that by the guide two replicas run, that a node with both of them is drained one after the other, and
// that Objects are reconciled meanwhile and afterwards.
func (s *stage) runsTwo(t *testing.T) {
	commands := guide.Commands(t, fleet, "## Run two replicas")
	s.shell.Run(t, commands[0])
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	former := map[string]bool{}
	s.awaitReplicas(t, func(p *corev1.Pod) bool {
		former[p.Name] = true
		return len(p.Spec.TopologySpreadConstraints) == 2 && len(p.Spec.Containers[0].Args) == 2 &&
			*p.Spec.SecurityContext.RunAsUser == openshift.FirstUser
	})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: build.Meta(local.CrossplaneNamespace, "provider-kcp")}
	kube.Await(t, s.c, budget, "one replica to be enough", func() (bool, string) {
		st := budget.Status
		return st.ExpectedPods == 2 && st.DesiredHealthy == 1 && st.DisruptionsAllowed == 1, fmt.Sprint(st)
	})
	if out := s.shell.Run(t, commands[2]); strings.Count(out, "Running") != 2 ||
		!strings.Contains(out, "crossplane-leader-election-provider-kubernetes") {
		t.Errorf("want two replicas and the Lease, got:\n%s", out)
	}
	o := s.object("replicated", "blue")
	kube.Create(t, s.c, o)
	s.awaitReady(t, o)
	s.shell.Run(t, "kubectl drain kwok --timeout=60s && kubectl uncordon kwok")
	s.awaitReplicas(t, func(p *corev1.Pod) bool { return !former[p.Name] })
	kube.Patch(t, s.c, o, `{"spec":{"forProvider":{"manifest":{"data":{"color":"red"}}}}}`)
	s.awaitData(t, "replicated", "red")
	kube.Remove(t, s.c, o)

	s.shell.Run(t, "kubectl delete poddisruptionbudgets provider-kcp -n crossplane-system\n"+
		"kubectl apply -f examples/install/provider.yaml")
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	kube.Eventually(t, "one replica", func() (bool, string) {
		n := s.kubelet.Processes()
		return n == 1 && len(s.pods(t)) == 1, fmt.Sprint(n, " run")
	})
}

// awaitReplicas waits until two pods run, both as wanted.
func (s *stage) awaitReplicas(t *testing.T, wanted func(*corev1.Pod) bool) {
	t.Helper()
	kube.Eventually(t, "two replicas", func() (bool, string) {
		pods := s.pods(t)
		ok := len(pods) == 2 && s.kubelet.Processes() == 2
		for i := range pods {
			ok = wanted(&pods[i]) && ok
		}
		return ok, fmt.Sprint(len(pods), " pods, ", s.kubelet.Processes(), " run")
	})
}

// pods returns the pods of the provider.
func (s *stage) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	l := &corev1.PodList{}
	kube.List(t, s.c, l, client.InNamespace(local.CrossplaneNamespace),
		client.MatchingLabels{"pkg.crossplane.io/provider": "provider-kcp"})
	return l.Items
}
