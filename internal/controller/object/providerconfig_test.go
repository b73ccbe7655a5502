package object_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
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
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, map[string]string{"color": "red"})
		kube.Remove(t, w.c, o)
	})
}
