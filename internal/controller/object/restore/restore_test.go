// Package restore_test shows that Objects are kept when the etcd of their target, or that of the control plane, is
// restored from a backup: history goes back there, and resource versions are given out again.
package restore_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	soon   = time.Minute
	admins = "system:masters"
	// healing is how long it may take, from when a restored server answers, until all is as it is to be. A busy machine
	// is slower than the software.
	healing = time.Minute
	// ahead is how many writes come between the backup and the restore, so that those after it do not catch up.
	ahead = 3000
)

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
		build.Credentials(name, "credentials", kube.Kubeconfig(t, target.User(t, "provider", admins))),
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
func awaitColor(t *testing.T, within time.Duration, namespace, name, color string) {
	t.Helper()
	c, cm := target.Client(t), &corev1.ConfigMap{}
	kube.Eventually(t, name+" to be "+color, func() (bool, string) {
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, cm); err != nil {
			return false, err.Error()
		}
		return cm.Data["color"] == color, cm.Data["color"]
	})
}

// goAhead makes a server give out many resource versions.
func goAhead(t *testing.T, s *kube.Server, namespace string) {
	t.Helper()
	const writers = 20
	c := s.Client(t)
	var writing sync.WaitGroup
	for w := range writers {
		cm := &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, fmt.Sprintf("counter-%d", w))}
		kube.Create(t, c, cm)
		writing.Go(func() {
			for i := range ahead / writers {
				write(t.Context(), c, cm, i)
			}
		})
	}
	writing.Wait()
}

// goOn keeps writing to a server until the test ends, as any cluster does.
func goOn(t *testing.T, s *kube.Server, namespace string) {
	t.Helper()
	c, cm := s.Client(t), &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, "heart")}
	kube.Create(t, c, cm)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var writing sync.WaitGroup
	writing.Go(func() {
		beat := time.NewTicker(100 * time.Millisecond)
		defer beat.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			write(ctx, c, cm, i)
			<-beat.C
		}
	})
	t.Cleanup(func() { cancel(); writing.Wait() })
}

func write(ctx context.Context, c client.Client, cm *corev1.ConfigMap, i int) {
	patch := `{"data":{"beat":"` + strconv.Itoa(i) + `"}}`
	// One more or less does not matter.
	_ = c.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// awaitEvent waits for the event that says on a ProviderConfig that its target was restored.
func awaitEvent(t *testing.T, c client.Client, config string) {
	t.Helper()
	kube.Eventually(t, "an event on the ProviderConfig", func() (bool, string) {
		events := &corev1.EventList{}
		if err := c.List(t.Context(), events); err != nil {
			return false, err.Error()
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "ProviderConfig" && e.InvolvedObject.Name == config &&
				e.Reason == commonv1.ReasonTargetRestored {
				return e.Type == corev1.EventTypeWarning, e.Message
			}
		}
		return false, "none"
	})
}

// TestTargetRestored shows that what a restore of a target has undone is done again, and that what somebody changes or
// deletes after it is noticed, although the resource versions of all that are lower than those the provider has seen.
func TestTargetRestored(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	tns, config := target.Namespace(t), connect(t, c)
	for _, name := range []string{"undone", "patched", "deleted"} {
		keep(t, c, config, tns, name)
	}
	target.Backup(t)
	goAhead(t, &target, tns)
	for _, name := range []string{"undone", "patched", "deleted"} {
		paint(t, c, config, name, "green")
		awaitColor(t, soon, tns, name, "green")
	}
	keep(t, c, config, tns, "later")

	target.Restore(t)
	begin := time.Now()
	goOn(t, &target, tns)
	awaitColor(t, healing, tns, "undone", "green")
	awaitColor(t, healing, tns, "later", "blue")
	t.Logf("what was undone was done again %s after the target was back", time.Since(begin))

	begin = time.Now()
	patched := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "patched")}
	kube.Patch(t, tc, patched, `{"data":{"color":"red"}}`)
	kube.Delete(t, tc, &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "deleted")})
	awaitColor(t, healing, tns, "patched", "green")
	awaitColor(t, healing, tns, "deleted", "green")
	t.Logf("drift was reverted after %s", time.Since(begin))
	awaitEvent(t, c, config)
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
		awaitColor(t, soon, tns, name, "green")
	}

	local.Restore(t)
	begin := time.Now()
	goOn(t, &local, lns)
	paint(t, c, config, "changed", "red")
	awaitColor(t, healing, tns, "changed", "red")
	awaitColor(t, healing, tns, "undone", "blue")
	keep(t, c, config, tns, "new")
	t.Logf("the control plane was followed again %s after it was back", time.Since(begin))
}
