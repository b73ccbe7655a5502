// Package hostile_test shows that targets which harm their clients harm nobody but themselves. It runs the built
// provider, as it measures its memory, against real servers behind fronts that misbehave.
package hostile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
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

const (
	user   = "provider"
	admins = "system:masters"
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon = 2 * time.Minute
	// creators is how many requests of a test are under way at a time.
	creators = 10
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A world is a control plane on which the provider runs, and a namespace on the target.
type world struct {
	c       client.WithWatch
	tc      client.Client
	process *provider.Process
	target  string // the namespace
}

// newWorld starts the provider, which logs all it does.
func newWorld(t *testing.T) world {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apis.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	cfg := local.Config()
	cfg.QPS = -1
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	w := world{c: c, tc: target.Client(t), target: target.Namespace(t)}
	t.Cleanup(func() { w.wipe(t) }) // After the end of the provider.
	w.process = program.Start(t, local.User(t, user, admins), provider.Options{Args: []string{"--debug"}})
	return w
}

// wipe removes all Objects, whose targets are no more, so that the next test has the provider to itself.
func (w world) wipe(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	var all mobjectv1alpha1.ObjectList
	if err := w.c.List(ctx, &all); err != nil {
		t.Error(err)
	}
	each(t, len(all.Items), func(i int) error {
		o := &all.Items[i]
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := w.c.Patch(ctx, o, free); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(w.c.Delete(ctx, o))
	})
}

// lives checks for some time that the provider has not ended.
func (w world) lives(t *testing.T, window time.Duration) {
	t.Helper()
	kube.Throughout(t, window, "the provider lives", func() (bool, string) {
		select {
		case <-w.process.Exited():
			return false, fmt.Sprintf("it has ended with %d", w.process.ExitCode())
		default:
			return true, ""
		}
	})
}

// connect makes a ProviderConfig of the namespaced scope from a configuration.
func (w world) connect(t *testing.T, namespace, name string, cfg *rest.Config) error {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: build.Meta(namespace, name),
		Data:       map[string][]byte{"kubeconfig": kube.Kubeconfig(t, cfg)},
	}
	if err := w.c.Create(t.Context(), secret); err != nil {
		return err
	}
	return w.c.Create(t.Context(), build.Namespaced().Config(namespace, name, build.FromSecret(namespace, name)))
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
func (w world) object(namespace, name, config string) build.Object {
	manifest := build.ConfigMap(w.target, name, "color", "blue")
	manifest["metadata"].(map[string]any)["labels"] = map[string]any{labelTarget: config}
	return build.Namespaced().Object(namespace, name, config, manifest)
}

// each calls f with 0 to n-1, by several workers, and fails the test if there is an error.
func each(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var next atomic.Int64
	errs := make(chan error, creators)
	var wg sync.WaitGroup
	for range creators {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}
