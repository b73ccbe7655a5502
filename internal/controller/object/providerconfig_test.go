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
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		ns, pc := connect(t, c, s, targetUser(t))
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
		kube.Create(t, c, o)
		awaitReady(t, c, o)
		config, other := s.Config(ns, pc, build.FromSecret(ns, "credentials")), s.Config(ns, pc+"-other",
			build.FromSecret(ns, "credentials"))
		kube.Create(t, c, other)
		kube.Eventually(t, "the ProviderConfig to be in use", func() (bool, string) {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil && len(config.GetFinalizers()) > 0, message(err)
		})
		kube.Delete(t, c, config)
		holds(t, c, "a ProviderConfig in use stays", func() (bool, string) {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil, message(err)
		}, o)

		patch := client.MergeFrom(o.DeepCopyObject().(client.Object))
		setConfig(o, other.GetName())
		if err := c.Patch(t.Context(), o, patch); err != nil {
			t.Fatal(err)
		}
		kube.AwaitGone(t, c, config)

		// The Object is kept through the other one.
		setManifest(t, c, o, build.ConfigMap(tns, "settings", "color", "red"))
		awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "red"})
		kube.Remove(t, c, o)
	})
}
