package olm

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// two shows that two stacks of one capability share the operator, which stays with the second when the first one goes.
func (s *site) two(t *testing.T) {
	f := claims
	x := bundle{capability: "networking", backend: "olm"}
	s.takeInventories(t)
	s.history = newHistory(t, watched)
	for _, name := range []string{"one", "two"} {
		s.ask(t, f, x, name)
	}
	for _, name := range []string{"one", "two"} {
		s.awaitStack(t, f, x, name)
	}
	s.awaitRest(t)
	s.Run(t, "kubectl delete "+f.resource(x.capability)+" one")
	kube.Eventually(t, "one Kong to go", func() (bool, string) {
		s.listObjects(t, f)
		return len(s.objects) == 3, s.state(t)
	})
	s.awaitStack(t, f, x, "two")
	for _, gvr := range []schema.GroupVersionResource{subscriptions, csvs} {
		if s.history.first(gvr, leaving) != 0 {
			t.Errorf("%s is gone though a stack needs it", gvr.Resource)
		}
	}
	s.listObjects(t, f)
	s.Run(t, "kubectl delete "+f.resource(x.capability)+" two")
	s.awaitEmpty(t, x)
}
