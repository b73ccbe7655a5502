package local

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKCPLifecycle is one test, as a kcp takes tens of seconds to start.
func TestKCPLifecycle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	k := startKCP(t, KCPOptions{Dir: dir, Audit: true})
	cs := clientOf(t, k.Config("root"))
	createConfigMap(t, cs, "kept")
	assertConfigMap(t, cs, "kept")
	w, err := cs.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	events, err := ReadAudit(k.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range events {
		if e.User == "kcp-admin" && e.Resource == "configmaps" {
			count[e.Verb]++
		}
	}
	if diff := cmp.Diff(map[string]int{"create": 1, "get": 1, "watch": 1}, count); diff != "" {
		t.Errorf("ReadAudit: requests by verb: -want, +got:\n%s", diff)
	}

	if err := k.Stop(); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	assertNoProcess(t, dir)
	if err := k.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}

	again := startKCP(t, KCPOptions{Dir: dir})
	assertConfigMap(t, clientOf(t, again.Config("root")), "kept")
}

func TestStartKCPFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	write(t, filepath.Join(dir, "etcd-server"), "", 0o600)
	_, err := StartKCP(t.Context(), KCPOptions{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("StartKCP: want an error with what kcp says, got: %v", err)
	}
	assertNoProcess(t, dir)
}

func startKCP(t *testing.T, o KCPOptions) *KCP {
	t.Helper()
	k, err := StartKCP(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}
