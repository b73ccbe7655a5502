package local

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestClusterLifecycle is one test, as each cluster takes seconds to start.
func TestClusterLifecycle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	progress := &bytes.Buffer{}
	c := startCluster(t, ClusterOptions{Dir: dir, Audit: true, Log: progress})
	if got := strings.Count(progress.String(), "\none: ") + 1; got != 2 {
		t.Errorf("Log: want a line each for etcd and kube-apiserver, got:\n%s", progress)
	}
	createConfigMap(t, clientOf(t, c.Config()), "kept")

	testAudit(t, c)
	if err := c.Stop(); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	assertNoProcess(t, dir)
	if err := c.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}

	again := startCluster(t, ClusterOptions{Dir: dir})
	assertConfigMap(t, clientOf(t, again.Config()), "kept")
	if got := again.AuditLog(); got != "" {
		t.Errorf("AuditLog without Audit: want none, got %q", got)
	}
}

func testAudit(t *testing.T, c *Cluster) {
	t.Helper()
	cfg, err := c.User("counted", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cs := clientOf(t, cfg)
	w, err := cs.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	createConfigMap(t, cs, "first")
	createConfigMap(t, cs, "second")
	for range 3 {
		assertConfigMap(t, cs, "first")
	}
	_, err = cs.AppsV1().Deployments("default").Patch(t.Context(), "none", types.MergePatchType, []byte("{}"),
		metav1.PatchOptions{}, "status")
	if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}

	const uri = "/api/v1/namespaces/default/configmaps"
	get := AuditEvent{
		Verb: "get", Resource: "configmaps", Namespace: "default", Name: "first", Code: 200, URI: uri + "/first",
	}
	want := []AuditEvent{
		{Verb: "watch", Resource: "configmaps", Namespace: "default", Code: 200, URI: uri + "?watch=true"},
		{Verb: "create", Resource: "configmaps", Namespace: "default", Name: "first", Code: 201, URI: uri},
		{Verb: "create", Resource: "configmaps", Namespace: "default", Name: "second", Code: 201, URI: uri},
		get, get, get,
		{
			Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "status", Namespace: "default",
			Name: "none", Code: 404,
			URI: "/apis/apps/v1/namespaces/default/deployments/none/status",
		},
	}
	if diff := cmp.Diff(want, requestsOf(t, c, "counted")); diff != "" {
		t.Errorf("ReadAudit: -want, +got:\n%s", diff)
	}
}

// requestsOf returns the requests of a user without its name and the time, which it checks.
func requestsOf(t *testing.T, c *Cluster, user string) []AuditEvent {
	t.Helper()
	events, err := ReadAudit(c.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	var of []AuditEvent
	for _, e := range events {
		if e.User != user {
			continue
		}
		if age := time.Since(e.Time); age < 0 || age > time.Minute {
			t.Errorf("Time: want now, got %s", e.Time)
		}
		e.User, e.Time = "", time.Time{}
		of = append(of, e)
	}
	return of
}

func startCluster(t *testing.T, o ClusterOptions) *Cluster {
	t.Helper()
	c, err := StartCluster(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func clientOf(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func createConfigMap(t *testing.T, cs kubernetes.Interface, name string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := cs.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func assertConfigMap(t *testing.T, cs kubernetes.Interface, name string) {
	t.Helper()
	if _, err := cs.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Errorf("Get: %v", err)
	}
}

// processes returns those that have dir among their arguments, as all servers have, and those of ours that have ended
// without being waited for.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "ppid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("cannot list processes: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if strings.Contains(line, dir) || f[0] == strconv.Itoa(os.Getpid()) && strings.HasPrefix(f[1], "Z") {
			found = append(found, line)
		}
	}
	return found
}

func assertNoProcess(t *testing.T, dir string) {
	t.Helper()
	if found := processes(t, dir); len(found) > 0 {
		t.Errorf("processes left:\n%s", strings.Join(found, ""))
	}
}
