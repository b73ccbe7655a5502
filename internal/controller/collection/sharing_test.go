package collection_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestEqualSelectionsShareOneStream shows that ten collections that select alike cost one watch on the target.
func TestEqualSelectionsShareOneStream(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		who := w.tns + "-sharer"
		kube.Create(t, w.c, build.Credentials(w.ns, "sharer", kube.Kubeconfig(t, target.User(t, who, admins))),
			w.scope.Config(w.ns, who, build.FromSecret(w.ns, "sharer")))
		audit := target.Audit(t)
		mark := audit.Mark()
		for i := range 10 {
			oc := w.scope.Collection(w.ns, fmt.Sprintf("%s-%d", w.tns, i), who, build.ConfigMaps(w.tns, "team", "a"))
			kube.Create(t, w.c, oc)
			w.awaitSettled(t, oc)
		}
		if diff := cmp.Diff(map[string]int{"watch configmaps": 1}, audit.Watches(mark).By(who).Count()); diff != "" {
			t.Errorf("watches: -want, +got:\n%s", diff)
		}
	})
}
