package object_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
		for _, o := range all {
			kube.AwaitGone(t, w.c, o)
		}
		for _, cm := range kept {
			kube.Await(t, w.c, cm, cm.GetName()+" to have no finalizer", func() (bool, string) {
				return len(cm.GetFinalizers()) == 0, strconv.Itoa(len(cm.GetFinalizers()))
			})
		}
	})
}
