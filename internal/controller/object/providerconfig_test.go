package object_test

import (
	"fmt"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestProviderConfigWithoutUsersGoes shows that a ProviderConfig which is being deleted goes once its last user refers
// to another, and not before.
func TestProviderConfigWithoutUsersGoes(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		spec := build.FromSecret(w.namespace, "credentials")
		config, other := w.scope.Config(w.namespace, w.config, spec), w.scope.Config(w.namespace, w.config+"-other", spec)
		kube.Create(t, w.c, other)
		kube.Eventually(t, "the ProviderConfig to be in use", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil && len(config.GetFinalizers()) > 0, message(err)
		})
		kube.Delete(t, w.c, config)
		holds(t, w.c, "a ProviderConfig in use stays", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil, message(err)
		}, o)

		edit(t, w.c, o, func() { setConfig(o, other.GetName()) })
		kube.AwaitGone(t, w.c, config)

		// The Object is kept through the other one.
		setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		w.awaitData(t, "settings", "color", "red")
		kube.Remove(t, w.c, o)
	})
}

// awaitUsers waits until a ProviderConfig counts so many users.
func awaitUsers(t *testing.T, c client.Client, config client.Object, want int64) {
	t.Helper()
	kube.Await(t, c, config, fmt.Sprintf("%d users of %s", want, config.GetName()), func() (bool, string) {
		n := config.(resource.ProviderConfig).GetUsers()
		return n == want, fmt.Sprintf("%d users", n)
	})
}

// TestUsersAreRecorded shows that each Object of a burst is recorded as a user of its ProviderConfig, ready or not, and
// that the record follows it.
func TestUsersAreRecorded(t *testing.T) {
	const burst = 30
	forWorldsBeside(t, func(t *testing.T, w world) {
		config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
		objects := make([]build.Object, burst)
		for i := range objects {
			namespace := w.target
			if i == 0 {
				namespace = "nowhere"
			}
			objects[i] = w.scope.Object(w.namespace, fmt.Sprintf("%s-%02d", w.target, i), w.config,
				build.ConfigMap(namespace, fmt.Sprintf("settings-%02d", i)))
			kube.Create(t, w.c, objects[i])
		}
		awaitUsers(t, w.c, config, burst)

		other := w.scope.Config(w.namespace, connectAs(t, w, targetUser(t)), build.FromSecret(w.namespace, "other"))
		for _, o := range objects[:2] {
			edit(t, w.c, o, func() { setConfig(o, other.GetName()) })
		}
		awaitUsers(t, w.c, other, 2)
		awaitUsers(t, w.c, config, burst-2)
	})
}
