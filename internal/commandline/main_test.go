package commandline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	local  kube.Server
	target = kube.Server{Shared: "remote"}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A world is where a test in one scope happens.
type world struct {
	c, tc     client.Client
	scope     build.Scope
	namespace string // on the control plane, and the name of a ProviderConfig with all rights on the target
	target    string // a namespace on the target
}

func newWorld(t *testing.T, s build.Scope) world {
	t.Helper()
	w := world{
		c: provider.Once(t, &local, "../../package/crds"), tc: target.Client(t), scope: s,
		namespace: local.Namespace(t), target: target.Namespace(t),
	}
	kubeconfig := kube.Kubeconfig(t, target.User(t, "provider", "system:masters"))
	kube.Create(t, w.c, build.Credentials(w.namespace, "credentials", kubeconfig),
		s.Config(w.namespace, w.namespace, build.FromSecret(w.namespace, "credentials")))
	return w
}

// names replaces T by the namespace on the target and L by that on the control plane.
func (w world) names(text string) string {
	return strings.NewReplacer("$T", w.target, "$L", w.namespace).Replace(text)
}

// manifest returns the manifest of a YAML text.
func (w world) manifest(t *testing.T, text string) build.Manifest {
	t.Helper()
	m := build.Manifest{}
	if err := yaml.Unmarshal([]byte(w.names(text)), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// options returns what the command has from a user of the control plane.
func options(t *testing.T, cfg *rest.Config, files ...string) commandline.Options {
	t.Helper()
	o := commandline.Options{ControlPlane: cfg, Namespace: "default"}
	for i, text := range files {
		file := filepath.Join(t.TempDir(), string(rune('a'+i))+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Files = append(o.Files, file)
	}
	return o
}

// file returns an Object as it is in a file: without a status.
func (w world) file(t *testing.T, o build.Object) string {
	t.Helper()
	gvk, err := w.c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	m := build.Manifest{}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	m["apiVersion"], m["kind"] = gvk.GroupVersion().String(), gvk.Kind
	delete(m, "status")
	return string(build.Raw(m).Raw)
}

// texts returns a report as a user sees it, in both formats.
func texts(t *testing.T, r *commandline.Report) (text, js string) {
	t.Helper()
	var b, j strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if err := preflight.WriteJSON(&j, r); err != nil {
		t.Fatal(err)
	}
	return b.String(), j.String()
}
