package object_test

import (
	"strconv"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestCrowdedReference shows that many Objects which refer to one resource, made and deleted together, do not get in
// each other's way: the finalizers of many come and go with one request, and none of them fails. A defect of
// provider-kubernetes: a finalizer that meets a conflict is missing for good.
func TestCrowdedReference(t *testing.T) {
	const crowd = 60
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", nil)
		all := make([]build.Object, crowd)
		audit := local.Audit(t)
		mark := audit.Mark()
		patches := func() kube.Requests {
			var found kube.Requests
			for _, e := range about(audit.Since(mark).By(user), w) {
				if e.Verb == "patch" && e.Subject() == "configmaps" {
					found = append(found, e)
				}
			}
			return found
		}
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), w.onConfigMap("source"))
			kube.Create(t, w.c, all[i])
		}
		for _, o := range all {
			awaitReady(t, w.c, o)
			awaitPinned(t, w.c, o, source, true)
		}
		t.Logf("patches: %d", len(patches()))
		if got := patches(); len(got) == 0 || len(got) > crowd {
			t.Errorf("patches of the one resource: want at most %d, got\n%s", crowd, got)
		}

		mark = audit.Mark()
		for _, o := range all {
			kube.Delete(t, w.c, o)
		}
		for _, o := range all {
			kube.AwaitGone(t, w.c, o)
		}
		if got := patches(); len(got) == 0 || len(got) > crowd {
			t.Errorf("patches of the one resource in the end: want at most %d, got\n%s", crowd, got)
		}
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil ||
			len(source.GetFinalizers()) > 0 {
			t.Errorf("nothing must be stranded, got %v, %v", source.GetFinalizers(), err)
		}
	})
}
