// Package hostile_test shows that targets which harm their clients harm nobody but themselves. It runs the built
// provider, as it measures its memory, against real servers behind fronts that misbehave.
package hostile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A world is a namespace of a control plane on which the provider runs, and one of the target.
type world struct {
	c, tc     client.Client
	process   *provider.Process
	namespace string
	target    string // the namespace there
	record    *record
	sink      *hostile.Sink // where redirects lead
}

// newWorld starts the provider, which logs all it does.
func newWorld(t *testing.T) world {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	w := world{
		c: local.Client(t, apis.AddToScheme), tc: target.Client(t), namespace: local.Namespace(t),
		target: target.Namespace(t), sink: hostile.NewSink(t, "canary-of-the-sink"),
	}
	w.record = w.watch(t)
	t.Cleanup(func() { w.wipe(t) }) // After the end of the provider.
	w.process = program.Start(t, local.User(t, "provider", "system:masters"), provider.Options{Args: []string{"--debug"}})
	return w
}

// wipe removes all Objects, whose targets are no more, so that the next test has the provider to itself.
func (w world) wipe(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var all mobjectv1alpha1.ObjectList
	if err := w.c.List(ctx, &all); err != nil {
		t.Error(err)
	}
	each(t, all.Items, func(o mobjectv1alpha1.Object) error {
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := w.c.Patch(ctx, &o, free); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(w.c.Delete(ctx, &o))
	})
}

// connect makes a ProviderConfig of the namespaced scope from a configuration.
func (w world) connect(t *testing.T, name string, cfg *rest.Config) error {
	t.Helper()
	if err := w.c.Create(t.Context(), build.Credentials(w.namespace, name, kube.Kubeconfig(t, cfg))); err != nil {
		return err
	}
	return w.c.Create(t.Context(), build.Namespaced().Config(w.namespace, name, build.FromSecret(w.namespace, name)))
}

// labelTarget is the label by which the resources of one target are told from those of the others, which are on the
// same server.
const labelTarget = "target"

// front starts the server of a target, in front of the real one.
func (w world) front(t *testing.T, config string, o hostile.Options) *hostile.Server {
	t.Helper()
	o.Selector = labelTarget + "=" + config
	return hostile.NewServer(t, target.Config(), o)
}

// object returns an Object that keeps a ConfigMap of its own name on the target of a ProviderConfig.
func (w world) object(name, config string) build.Object {
	manifest := build.ConfigMap(w.target, name, "color", "blue")
	manifest["metadata"].(map[string]any)["labels"] = map[string]any{labelTarget: config}
	return build.Namespaced().Object(w.namespace, name, config, manifest)
}

// each does something for each of a list, several at a time, and fails the test if there is an error.
func each[T any](t *testing.T, list []T, do func(T) error) {
	t.Helper()
	kube.AtOnce(list, func(x T) {
		if err := do(x); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}
