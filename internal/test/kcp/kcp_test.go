package kcp_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
)

var server kcp.Server

func TestMain(m *testing.M) { os.Exit(kcp.Run(m, &server)) }

func TestWorkspacesAreSeparate(t *testing.T) {
	onePath, one := server.Workspace(t)
	twoPath, two := server.Workspace(t)
	for _, path := range []string{onePath, twoPath} {
		if !strings.HasPrefix(path, "root:") {
			t.Errorf("Workspace: want a path below root, got %q", path)
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if err := newClient(t, one).Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, server.Config(onePath)).Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Errorf("Get by the workspace's path: %v", err)
	}
	cluster := cm.GetAnnotations()["kcp.io/cluster"]
	if err := newClient(t, server.Config(cluster)).Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Errorf("Get by the logical cluster's name %q: %v", cluster, err)
	}
	err := newClient(t, two).Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("an object of one workspace must not be in another: %v", err)
	}
}

func newClient(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
