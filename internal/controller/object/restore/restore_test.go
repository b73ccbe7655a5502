// Package restore_test shows that Objects are kept when the etcd of their target, or that of the control plane, is
// restored from a backup: history goes back there, and resource versions are given out again.
package restore_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// ahead is how many writes come between the backup and the restore, so that those after it do not catch up.
const ahead = 3000

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../../package/crds")
}

// connect makes a ProviderConfig for the target, and returns its name.
func connect(t *testing.T, c client.Client) string {
	t.Helper()
	name := local.Namespace(t)
	kube.Create(t, c,
		build.Credentials(name, "credentials", kube.Kubeconfig(t, target.User(t, "provider", "system:masters"))),
		build.Cluster().Config("", name, build.FromSecret(name, "credentials")))
	return name
}

// keep makes an Object that keeps a ConfigMap of the same name, and waits until it is ready.
func keep(t *testing.T, c client.Client, config, namespace, name string) {
	t.Helper()
	o := build.Cluster().Object("", config+"-"+name, config, build.ConfigMap(namespace, name, "color", "blue"))
	kube.Create(t, c, o)
	provider.AwaitReady(t, c, o)
}

// paint changes the color that an Object keeps.
func paint(t *testing.T, c client.Client, config, name, color string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"forProvider":{"manifest":{"data":{"color":%q}}}}}`, color)
	o := build.Cluster().New()
	o.SetName(config + "-" + name)
	kube.Patch(t, c, o, patch)
}

// awaitColor waits until a ConfigMap of the target has a color.
func awaitColor(t *testing.T, namespace, name, color string) {
	t.Helper()
	awaitColorOn(t, &target, namespace, name, color)
}

// awaitColorOn waits until a ConfigMap of a server has a color.
func awaitColorOn(t *testing.T, s *kube.Server, namespace, name, color string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, name)}
	kube.Await(t, s.Client(t), cm, name+" to be "+color, func() (bool, string) {
		return cm.Data["color"] == color, cm.Data["color"]
	})
}

// write has a server give out a resource version. One more or less does not matter.
func write(ctx context.Context, c client.Client, namespace string) {
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, "")}
	cm.SetGenerateName("beat-")
	_ = c.Create(ctx, cm)
}

// goAhead makes a server give out many resource versions.
func goAhead(t *testing.T, s *kube.Server, namespace string) {
	t.Helper()
	c := s.Client(t)
	kube.AtOnce(make([]struct{}, ahead), func(struct{}) { write(t.Context(), c, namespace) })
}

// goOn keeps writing to a server until the test ends, as any cluster does.
func goOn(t *testing.T, s *kube.Server, namespace string) {
	t.Helper()
	c, beat := s.Client(t), time.NewTicker(100*time.Millisecond)
	var writing sync.WaitGroup
	writing.Go(func() {
		for t.Context().Err() == nil {
			write(t.Context(), c, namespace)
			<-beat.C
		}
	})
	t.Cleanup(func() { writing.Wait(); beat.Stop() })
}

// TestControlPlaneRestored shows that the provider follows what a restored control plane says, of Objects that are
// there and of new ones, although the resource versions of all that are lower than those it has seen.
func TestControlPlaneRestored(t *testing.T) {
	c := provide(t)
	tns, config := target.Namespace(t), connect(t, c)
	keep(t, c, config, tns, "undone")
	keep(t, c, config, tns, "changed")
	lns := local.Namespace(t)
	local.Backup(t)
	goAhead(t, &local, lns)
	for _, name := range []string{"undone", "changed"} {
		paint(t, c, config, name, "green")
		awaitColor(t, tns, name, "green")
	}

	local.Restore(t)
	goOn(t, &local, lns)
	paint(t, c, config, "changed", "red")
	awaitColor(t, tns, "changed", "red")
	awaitColor(t, tns, "undone", "blue")
	keep(t, c, config, tns, "new")
}
