package object_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestChain installs ten Objects that depend on each other, the last first, and deletes them at once. Each is made
// after the one it depends on and goes before it, within a second of its neighbour, as there is no pause of a backoff
// in between.
func TestChain(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "the slowest step from one to the next",
			func() time.Duration { return newWorld(t, c, s).runChain(t) })
	})
}

// runChain installs and uninstalls a chain, checks the order, and returns how long the slowest step took.
func (w world) runChain(t *testing.T) time.Duration {
	t.Helper()
	const length = 10
	var chain []build.Object // from the last to the first
	for i := length; i > 1; i-- {
		ref := w.on(strconv.Itoa(i - 1))
		ref.DependsOn.WaitFor = commonv1.WaitForReady
		chain = append(chain, w.keeper(strconv.Itoa(i), ref))
	}
	chain = append(chain, w.keeper("1"))
	audit := target.Audit(t)
	mark := audit.Mark()
	for _, o := range chain {
		kube.Create(t, w.c, o)
	}
	for _, o := range chain {
		awaitReady(t, w.c, o)
	}
	made := moments(audit.Since(mark), w.target, "patch")
	checkOrder(t, "made", made, length)

	mark = audit.Mark()
	for i := range chain { // The first first, so that each has dependents when its turn comes.
		kube.Delete(t, w.c, chain[length-1-i])
	}
	for _, o := range chain {
		kube.AwaitGone(t, w.c, o)
	}
	gone := moments(audit.Since(mark), w.target, "delete")
	slices.Reverse(gone)
	checkOrder(t, "deleted", gone, length)
	return max(slowest(made), slowest(gone))
}

// A moment is when something was done to a ConfigMap of a number.
type moment struct {
	number string
	time   time.Time
}

// moments returns when a verb was first used on each ConfigMap of a namespace.
func moments(requests kube.Requests, namespace, verb string) []moment {
	var all []moment
	seen := map[string]bool{}
	for _, e := range requests {
		if e.Namespace == namespace && e.Verb == verb && e.Subject() == "configmaps" && !seen[e.Name] {
			seen[e.Name] = true
			all = append(all, moment{number: e.Name, time: e.Time})
		}
	}
	return all
}

// checkOrder checks that moments are of the numbers from 1 to n.
func checkOrder(t *testing.T, what string, got []moment, n int) {
	t.Helper()
	var want, order []string
	for i := range n {
		want = append(want, strconv.Itoa(i+1))
	}
	for _, m := range got {
		order = append(order, m.number)
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order in which resources were %s: -want, +got:\n%s", what, diff)
	}
}

// slowest returns the longest time between two moments in a row.
func slowest(all []moment) time.Duration {
	var most time.Duration
	for i := 1; i < len(all); i++ {
		most = max(most, all[i].time.Sub(all[i-1].time).Abs())
	}
	return most
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
			if got := events(t, w.c, o, "waiting for dependents"); len(got) != 1 {
				t.Errorf("events that say so about %s: want 1, got %d", o.GetName(), len(got))
			}
		}
		kube.Delete(t, w.c, third)
		for _, o := range []build.Object{third, second, first} {
			kube.AwaitGone(t, w.c, o)
		}
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(w.kept("2")), w.kept("2")); err != nil {
			t.Errorf("the resource must be left: %v", err)
		}
	})
}

// TestCycle shows that Objects which refer to each other in a circle say so, and can be deleted.
func TestCycle(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		a, b, d := w.keeper("a", w.on("b")), w.keeper("b", w.on("d")), w.keeper("d")
		self, outside := w.keeper("self", w.on("self")), w.keeper("outside", w.on("d"))
		kube.Create(t, w.c, a, b, d, self, outside)
		awaitReady(t, w.c, a)
		awaitReady(t, w.c, outside)
		awaitPinned(t, w.c, a, b, true)
		awaitCondition(t, w.c, self, failed(commonv1.ReasonReferenceCycle), w.name("self")+" -> Object ")

		setReferences(t, w.c, d, w.on("a"))
		for _, o := range []build.Object{a, b, d} {
			awaitCondition(t, w.c, o, failed(commonv1.ReasonReferenceCycle), w.name("a"), w.name("b"), w.name("d"))
			awaitRecorded(t, w.c, o)
		}
		awaitPinned(t, w.c, a, b, false)
		awaitPinned(t, w.c, outside, d, true)

		setReferences(t, w.c, d)
		for _, o := range []build.Object{a, b, d} {
			awaitCondition(t, w.c, o, synced)
		}
		setReferences(t, w.c, d, w.on("a"))
		awaitCondition(t, w.c, b, failed(commonv1.ReasonReferenceCycle))
		awaitRecorded(t, w.c, a)
		for _, o := range []build.Object{a, b, d, outside, self} {
			kube.Delete(t, w.c, o)
		}
		for _, o := range []build.Object{a, b, d, outside, self} {
			kube.AwaitGone(t, w.c, o)
		}
	})
}

// TestStrandedFinalizersGo shows that what an earlier provider has left on Objects does not keep them: finalizers of
// Objects that are gone, or that refer to something else. Those in a cycle do not wait for each other.
// provider-kubernetes leaves them (its #28).
func TestStrandedFinalizersGo(t *testing.T) {
	// There is no sign when the last has gone for good: it is looked for each half minute. Those in a cycle must not
	// wait for that.
	forWorldsBeside(t, func(t *testing.T, w world) {
		other := w.keeper("other")
		kube.Create(t, w.c, other)
		gone := w.keeper("gone")
		gone.SetFinalizers([]string{commonv1.FinalizerReferredPrefix + "00000000-0000-0000-0000-000000000000"})
		elsewhere := w.keeper("elsewhere")
		elsewhere.SetFinalizers([]string{referred(other)})
		kube.Create(t, w.c, gone, elsewhere)
		awaitReady(t, w.c, gone)
		awaitReady(t, w.c, elsewhere)

		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		for _, o := range []build.Object{a, b} {
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			kube.Create(t, w.c, o)
		}
		for x, of := range map[build.Object]build.Object{a: b, b: a} {
			setFinalizers(t, w.c, x, "finalizer.managedresource.crossplane.io", referred(of))
		}
		for _, o := range []build.Object{gone, elsewhere, a, b} {
			kube.Delete(t, w.c, o)
		}
		unpause(t, w.c, a)
		unpause(t, w.c, b)
		for _, o := range []build.Object{a, b, gone, elsewhere} {
			kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
				err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
				return apierrors.IsNotFound(err), conditions(o)
			})
		}
	})
}

// TestInheritedCycleIsLoosened shows that Objects in a cycle that an earlier provider has pinned lose the finalizers of
// each other.
func TestInheritedCycleIsLoosened(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		for _, o := range []build.Object{a, b} {
			o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			kube.Create(t, w.c, o)
		}
		for x, of := range map[build.Object]build.Object{a: b, b: a} {
			setFinalizers(t, w.c, x, "finalizer.managedresource.crossplane.io", referred(of))
		}
		unpause(t, w.c, a)
		unpause(t, w.c, b)
		awaitPinned(t, w.c, a, b, false)
		awaitPinned(t, w.c, b, a, false)
		awaitCondition(t, w.c, a, failed(commonv1.ReasonReferenceCycle))
		kube.Remove(t, w.c, a)
	})
}
