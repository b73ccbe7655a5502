package object_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// denseObjects is the variable with the number of Objects that depend on each other. 80 have 3,160 references.
const denseObjects = "DENSE_OBJECTS"

// TestDenseReferences makes Objects that each depend on all before them. It shows that they become ready, hold up no
// Object of another tenant, and can be deleted. Finalizers of several dependents come with one request.
func TestDenseReferences(t *testing.T) {
	crowd := kube.Setting(t, denseObjects, 30)
	forWorlds(t, func(t *testing.T, w world) {
		all := make([]build.Object, crowd)
		var refs []commonv1.Reference
		mark := local.Audit(t).Mark()
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), refs...)
			refs = append(refs[:i:i], w.on(strconv.Itoa(i)))
			kube.Create(t, w.c, all[i])
		}
		awaitNeighbour(t, w.c, w.scope)
		awaitReady(t, w.c, all...)
		for i, o := range all {
			if got := len(o.Observed().References); got != i {
				t.Errorf("%s: want %d references recorded, got %d", o.GetName(), i, got)
			}
			kube.Get(t, w.c, client.ObjectKeyFromObject(o), o)
			if got := len(o.GetFinalizers()); got != crowd-i {
				t.Errorf("%s: want its own finalizer and those of %d dependents, got %d", o.GetName(), crowd-i-1, got)
			}
		}
		patches := about(local.Audit(t).Since(mark).By(user), w).Count()["patch objects."+w.scope.Resource.Group]
		if patches == 0 || patches >= crowd*(crowd-1)/2 {
			t.Errorf("patches of Objects: want fewer than references, as those of several dependents are made together, got %d",
				patches)
		}
		slices.Reverse(all)
		kube.Remove(t, w.c, plain(all)...)
	})
}

// TestCrowdedReference shows that many Objects which refer to one resource, made and deleted together, do not get in
// each other's way: the finalizers of many come and go with one request, and none of them fails. A defect of
// provider-kubernetes: a finalizer that meets a conflict is missing for good.
func TestCrowdedReference(t *testing.T) {
	const crowd = 60
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", nil)
		checkPatches := func(mark kube.Mark) {
			t.Helper()
			got := about(local.Audit(t).Since(mark).By(user), w).Count()["patch configmaps"]
			if got == 0 || got > crowd {
				t.Errorf("patches of the one resource: want at most %d, got %d", crowd, got)
			}
		}
		mark := local.Audit(t).Mark()
		all := w.crowd(t, crowd, w.onConfigMap("source"))
		awaitReady(t, w.c, all...)
		for _, o := range all {
			awaitPinned(t, w.c, o, source, true)
		}
		checkPatches(mark)

		mark = local.Audit(t).Mark()
		kube.Remove(t, w.c, plain(all)...)
		checkPatches(mark)
		kube.Get(t, w.c, client.ObjectKeyFromObject(source), source)
		if len(source.GetFinalizers()) > 0 {
			t.Errorf("nothing must be stranded, got %v", source.GetFinalizers())
		}
	})
}

// TestRandomReferencesVanish makes Objects that refer to each other at random, in cycles, too, changes references of
// some, and deletes all in random order. It shows that all of them go, and that no finalizer is left on what others
// keep.
func TestRandomReferencesVanish(t *testing.T) {
	const objects, sources = 50, 3
	forWorlds(t, func(t *testing.T, w world) {
		random := rand.New(rand.NewPCG(1, 50))
		var kept []*corev1.ConfigMap
		for i := range sources {
			kept = append(kept, w.source(t, "source"+strconv.Itoa(i), nil))
		}
		some := func() []commonv1.Reference {
			var refs []commonv1.Reference
			for range random.IntN(3) {
				refs = append(refs, w.on(strconv.Itoa(random.IntN(objects))))
			}
			if random.IntN(2) == 0 {
				refs = append(refs, w.onConfigMap("source"+strconv.Itoa(random.IntN(sources))))
			}
			return refs
		}
		all := make([]build.Object, objects)
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), some()...)
			kube.Create(t, w.c, all[i])
		}
		for range objects / 2 {
			setReferences(t, w.c, all[random.IntN(objects)], some()...)
		}
		for _, i := range random.Perm(objects) {
			if random.IntN(4) == 0 {
				setReferences(t, w.c, all[i], some()...)
			}
			kube.Delete(t, w.c, all[i])
		}
		kube.AwaitGone(t, w.c, plain(all)...)
		for _, cm := range kept {
			kube.Await(t, w.c, cm, cm.GetName()+" to have no finalizer", func() (bool, string) {
				return len(cm.GetFinalizers()) == 0, strconv.Itoa(len(cm.GetFinalizers()))
			})
		}
	})
}
