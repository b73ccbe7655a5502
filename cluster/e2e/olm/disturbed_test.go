package olm

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// killed shows that a stack is installed, and uninstalled in order, as if nothing had happened though the provider is
// killed at each step.
func (s *site) killed(t *testing.T, f form) {
	x := bundle{capability: "networking", backend: "olm", objects: 3}
	s.takeInventories(t)
	s.history = newHistoryOf(t, watched)
	s.ask(t, f, x, x.example())
	for _, gvr := range []schema.GroupVersionResource{subscriptions, csvs, kongs} {
		s.kill(t, gvr, there)
	}
	s.awaitSettled(t, f, x)
	s.kubectl(t, "", "delete", "--wait=false", f.resource(x.capability), x.example())
	for _, gvr := range []schema.GroupVersionResource{kongs, csvs} {
		s.kill(t, gvr, leaving)
	}
	s.awaitEmpty(t, x)
}

// kill waits until a resource is as said, and kills the provider, which another one follows.
func (s *site) kill(t *testing.T, gvr schema.GroupVersionResource, is func(happening) bool) {
	t.Helper()
	kube.Eventually(t, gvr.Resource+" to be as far", func() (bool, string) {
		return s.history.first(gvr, is) > 0, s.state(t) + s.history.String()
	})
	s.provider.Kill()
	s.provider = startOn(s.whole, s.server)
}

// two shows that two stacks of one capability share the operator, which stays with the second when the first one goes.
func (s *site) two(t *testing.T, f form) {
	x := bundle{capability: "networking", backend: "olm"}
	s.takeInventories(t)
	s.history = newHistoryOf(t, watched)
	for _, name := range []string{"one", "two"} {
		s.ask(t, f, x, name)
	}
	for _, name := range []string{"one", "two"} {
		s.awaitStack(t, f, x, name)
	}
	s.awaitRest(t)
	s.kubectl(t, "", "delete", f.resource(x.capability), "one")
	kube.Eventually(t, "one Kong to go", func() (bool, string) {
		s.listObjects(t, f)
		return len(s.objects) == 3, s.state(t)
	})
	s.awaitStack(t, f, x, "two")
	for _, gvr := range []schema.GroupVersionResource{subscriptions, csvs} {
		if s.history.first(gvr, leaving) != 0 {
			t.Errorf("%s is gone though a stack needs it\n%s", gvr.Resource, s.history)
		}
	}
	s.listObjects(t, f)
	s.kubectl(t, "", "delete", f.resource(x.capability), "two")
	s.awaitEmpty(t, x)
}
