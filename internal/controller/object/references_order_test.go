package object_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestChain installs ten Objects that depend on each other, the last first, and deletes them at once. Each is made
// after the one it depends on and goes before it.
func TestChain(t *testing.T) {
	const length = 10
	forWorlds(t, func(t *testing.T, w world) {
		var chain []build.Object // from the last to the first
		for i := length; i > 1; i-- {
			ref := w.on(strconv.Itoa(i - 1))
			ref.DependsOn.WaitFor = commonv1.WaitForReady
			chain = append(chain, w.keeper(strconv.Itoa(i), ref))
		}
		chain = append(chain, w.keeper("1"))
		mark := target.Audit(t).Mark()
		kube.Create(t, w.c, plain(chain)...)
		awaitReady(t, w.c, chain...)
		w.checkOrder(t, "patch", mark, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")

		mark = target.Audit(t).Mark()
		slices.Reverse(chain) // The first first, so that each has dependents when its turn comes.
		kube.Remove(t, w.c, plain(chain)...)
		w.checkOrder(t, "delete", mark, "10", "9", "8", "7", "6", "5", "4", "3", "2", "1")
	})
}

// rolledOut is what the controller of a Deployment says when all replicas are there.
const rolledOut = `"observedGeneration":1,"conditions":[{"type":"Available","status":"True"},` +
	`{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]`

// TestHealthyChain installs three Objects, each of which waits until the resource of the one before it works, and the
// last for a query, too. It shows that nothing is made before, that each says what it waits for, and that an Object
// which has its resource goes on when the health of the other is lost. The test is the controller of the Deployments.
func TestHealthyChain(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		on := func(name, query string) commonv1.Reference {
			ref := w.on(name)
			ref.DependsOn.WaitFor, ref.DependsOn.CelQuery = commonv1.WaitForHealthy, query
			return ref
		}
		works := func(name string, available int) {
			t.Helper()
			kube.PatchStatus(t, w.tc, &appsv1.Deployment{ObjectMeta: build.Meta(w.target, name)}, fmt.Sprintf(
				`{"status":{"replicas":1,"updatedReplicas":1,"readyReplicas":%[1]d,"availableReplicas":%[1]d,%[2]s}}`,
				available, rolledOut))
		}
		const labelled = "object.?status.?atProvider.?manifest.?metadata.?labels['open'].orValue('') == 'yes'"
		first, second, third := w.keeper("1"), w.keeper("2", on("1", "")), w.keeper("3", on("2", labelled))
		for name, o := range map[string]build.Object{"1": first, "2": second} {
			m := build.Deployment(w.target, name)
			m["spec"].(map[string]any)["replicas"] = 1
			o.Desired().ForProvider.Manifest = build.Raw(m)
		}
		kube.Create(t, w.c, third, second, first)
		waiting := failed(commonv1.ReasonWaitingForReference)
		awaitCondition(t, w.c, second, waiting, w.name("1")+" to be healthy: In progress: Replicas: 0/1")
		awaitCondition(t, w.c, third, waiting, w.name("2")+" to be healthy: the Object has no resource yet")

		works("1", 1)
		awaitReady(t, w.c, second)
		awaitCondition(t, w.c, third, waiting, w.name("2")+" to be healthy: In progress: Replicas: 0/1")
		works("2", 1)
		awaitCondition(t, w.c, third, waiting,
			w.name("2")+" to satisfy spec.references[0].dependsOn.celQuery: The CEL query is false")
		w.exists(t, w.kept("3"), false)
		d := &appsv1.Deployment{ObjectMeta: build.Meta(w.target, "2")}
		kube.Patch(t, w.tc, d, `{"metadata":{"labels":{"open":"yes"}}}`)
		awaitReady(t, w.c, third)

		works("2", 0)
		setManifest(t, w.c, third, build.ConfigMap(w.target, "3", "color", "red"))
		w.awaitData(t, "3", "color", "red")
		kube.Remove(t, w.c, first, second, third)
	})
}

// checkOrder checks in which order a verb was first used on the ConfigMaps of a world since a mark.
func (w world) checkOrder(t *testing.T, verb string, mark kube.Mark, want ...string) {
	t.Helper()
	var order []string
	for _, e := range target.Audit(t).Since(mark) {
		if e.Namespace == w.target && e.Verb == verb && e.Subject() == "configmaps" && !slices.Contains(order, e.Name) {
			order = append(order, e.Name)
		}
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order of each %s: -want, +got:\n%s", verb, diff)
	}
}

// TestKeptResourceWaitsToo shows that an Object which leaves its resource waits for its dependents as well: what it
// refers to itself must not go before those.
func TestKeptResourceWaitsToo(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		first, second, third := w.keeper("1"), w.keeper("2", w.on("1")), w.keeper("3", w.on("2"))
		second.SetManagementPolicies(neverDelete)
		kube.Create(t, w.c, first, second, third)
		awaitReady(t, w.c, third)
		kube.Delete(t, w.c, first)
		kube.Delete(t, w.c, second)
		awaitCondition(t, w.c, first, failed(commonv1.ReasonWaitingForDependents))
		awaitCondition(t, w.c, second, failed(commonv1.ReasonWaitingForDependents), w.name("3"))
		staysUnwritten(t, w.c, first, second)
		for _, o := range []build.Object{first, second} {
			if got := events(t, w.c, o, "waiting for the deletion of Objects"); len(got) != 1 {
				t.Errorf("events that say so about %s: want 1, got %d", o.GetName(), len(got))
			}
		}
		kube.Delete(t, w.c, third)
		kube.AwaitGone(t, w.c, third, second, first)
		w.exists(t, w.kept("2"), true)
	})
}

// TestCycle shows that Objects which refer to each other, or to themselves, are applied, and can be deleted one by one.
// Of a longer circle one has to lose a reference.
func TestCycle(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		self, outside := w.keeper("self", w.on("self")), w.keeper("outside", w.on("b"))
		x, y, z := w.keeper("x", w.on("y")), w.keeper("y", w.on("z")), w.keeper("z", w.on("x"))
		kube.Create(t, w.c, a, b, self, outside, x, y, z)
		awaitReady(t, w.c, a, b, self, outside, x, y, z)
		awaitPinned(t, w.c, b, a, true)
		awaitPinned(t, w.c, self, self, true)
		awaitPinned(t, w.c, x, y, true)
		awaitPinned(t, w.c, y, z, true)
		awaitPinned(t, w.c, z, x, true)
		kube.Delete(t, w.c, a)
		kube.AwaitGone(t, w.c, a)
		kube.Delete(t, w.c, b, outside, self, x, y, z)
		kube.AwaitGone(t, w.c, b, outside, self)
		awaitCondition(t, w.c, x, failed(commonv1.ReasonWaitingForDependents))
		setReferences(t, w.c, x)
		kube.AwaitGone(t, w.c, x, y, z)
	})
}

// TestStrandedFinalizersGo shows that what an earlier provider has left on Objects does not keep them: finalizers of
// Objects that are gone, or that refer to something else. Those in a cycle do not wait for each other.
// provider-kubernetes leaves them (its #28).
func TestStrandedFinalizersGo(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		other := w.keeper("other")
		kube.Create(t, w.c, other)
		gone := w.keeper("gone")
		gone.SetFinalizers([]string{commonv1.FinalizerReferredPrefix + "00000000-0000-0000-0000-000000000000"})
		elsewhere := w.keeper("elsewhere")
		elsewhere.SetFinalizers([]string{referred(other)})
		kube.Create(t, w.c, gone, elsewhere)
		awaitReady(t, w.c, gone, elsewhere)

		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		for _, o := range []build.Object{a, b} {
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			kube.Create(t, w.c, o)
		}
		setFinalizers(t, w.c, a, "finalizer.managedresource.crossplane.io", referred(b))
		setFinalizers(t, w.c, b, "finalizer.managedresource.crossplane.io", referred(a))
		kube.Delete(t, w.c, gone, elsewhere, a, b)
		unpause(t, w.c, a)
		unpause(t, w.c, b)
		kube.AwaitGone(t, w.c, a, b, gone, elsewhere)
	})
}

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

// TestRandomReferencesVanish makes Objects that refer to each other at random, in cycles of two, too, changes
// references of some, and deletes all in random order. It shows that all of them go, and that no finalizer is left on
// what others keep.
func TestRandomReferencesVanish(t *testing.T) {
	const objects, sources = 50, 3
	forWorlds(t, func(t *testing.T, w world) {
		random := rand.New(rand.NewPCG(1, 50))
		var kept []*corev1.ConfigMap
		for i := range sources {
			kept = append(kept, w.source(t, "source"+strconv.Itoa(i), nil))
		}
		some := func(i int) []commonv1.Reference {
			var refs []commonv1.Reference
			for range random.IntN(3) {
				refs = append(refs, w.on(strconv.Itoa(random.IntN((i|1)+1)))) // No longer cycle than of two.
			}
			if random.IntN(2) == 0 {
				refs = append(refs, w.onConfigMap("source"+strconv.Itoa(random.IntN(sources))))
			}
			return refs
		}
		all := make([]build.Object, objects)
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), some(i)...)
			kube.Create(t, w.c, all[i])
		}
		for range objects / 2 {
			i := random.IntN(objects)
			setReferences(t, w.c, all[i], some(i)...)
		}
		for _, i := range random.Perm(objects) {
			if random.IntN(4) == 0 {
				setReferences(t, w.c, all[i], some(i)...)
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
