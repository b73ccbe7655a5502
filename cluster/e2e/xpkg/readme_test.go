package xpkg

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// mostCommands is how many commands lead from an empty control plane with Crossplane to a first Object at most.
const mostCommands = 9

// command begins a command.
var command = regexp.MustCompile("(?m)^(kubectl|sed) ")

// awaitFirstKind waits by README's own command for what is applied then: a user gives it when nothing is served yet.
func (s *stage) awaitFirstKind(t *testing.T) {
	t.Helper()
	first := guide.Commands(t, filepath.Join(top, "README.md"), "## A first Object")
	wait, _, _ := strings.Cut(first[0], "\n")
	if !strings.HasPrefix(wait, "kubectl wait ") {
		t.Fatalf("README does not wait for the kind of its first Object: %s", wait)
	}
	s.shell.Run(t, wait)
	for _, kind := range []string{"clusterproviderconfigs", "objects"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.c.Get(t.Context(), types.NamespacedName{Name: kind + ".kubernetes.m.crossplane.io"}, crd); err != nil {
			t.Error(err)
		}
	}
}

// keepsFirstObject shows that README leads to a first Object with few commands, where nothing is there but Crossplane
// and the package, and that what it says of drift and deletion is so.
func (s *stage) keepsFirstObject(t *testing.T) {
	readme := filepath.Join(top, "README.md")
	first := guide.Commands(t, readme, "## A first Object")
	all := guide.Commands(t, readme, "## Install")[0] + strings.Join(first, "")
	if n := len(command.FindAllString(all, -1)); n > mostCommands {
		t.Errorf("commands from an empty control plane to a first Object: want at most %d, got %d:\n%s", mostCommands, n, all)
	}
	remote := kube.Kubeconfig(t, target.User(t, "provider", admins))
	s.shell.Write(t, "remote.kubeconfig", remote)
	s.shell.RunAll(t, first)
	hello := s.hello(t, types.UID(""))
	kube.Delete(t, s.tc, hello)
	s.hello(t, hello.UID)
	s.shell.Run(t, "kubectl delete objects.kubernetes.m.crossplane.io/hello")
	err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "hello"}, hello)
	if !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap of a deleted Object: want it gone, got %v", err)
	}
	// The records of use go with their Objects, as soon as the garbage collector knows their new kind.
	s.shell.Run(t, "kubectl delete clusterproviderconfigs.kubernetes.m.crossplane.io/remote --wait=false")
}

// hello waits for the ConfigMap of README's Object, with another UID than that of a former one.
func (s *stage) hello(t *testing.T, former types.UID) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(metav1.NamespaceDefault, "hello")}
	kube.Await(t, s.tc, cm, "ConfigMap hello", func() (bool, string) {
		return cm.UID != former && cm.Data["message"] == "hello, world", fmt.Sprint(cm.Data)
	})
	return cm
}
