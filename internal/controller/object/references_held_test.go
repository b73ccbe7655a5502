package object_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferencesArePinnedAndReleased shows that a reference added later pins what it names, that a finalizer somebody takes off comes
// back, and that what is no longer referred to is let go. Defects 2a.1 and 2a.2 of provider-kubernetes.
func TestReferencesArePinnedAndReleased(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		a, b := w.source(t, "a", nil), w.source(t, "b", nil)
		o := w.keeper("settings")
		create(t, c, o)
		awaitReady(t, c, o)

		setReferences(t, c, o, w.onConfigMap("a"))
		awaitPinned(t, c, o, a, true)
		unpin(t, c, a)
		awaitPinned(t, c, o, a, true)

		setReferences(t, c, o, w.onConfigMap("b"))
		awaitPinned(t, c, o, a, false)
		awaitPinned(t, c, o, b, true)
		awaitRecorded(t, c, o, "ConfigMap b")

		setReferences(t, c, o, w.onConfigMap("missing"))
		awaitPinned(t, c, o, b, false)
		setReferences(t, c, o, w.onConfigMap("a"), w.onConfigMap("b"))
		awaitPinned(t, c, o, a, true)
		setReferences(t, c, o)
		awaitPinned(t, c, o, a, false)
		awaitPinned(t, c, o, b, false)
		awaitRecorded(t, c, o)
		awaitReady(t, c, o)
	})
}

// setFinalizers gives a resource other finalizers.
func setFinalizers(t *testing.T, c client.Client, x client.Object, finalizers ...string) {
	t.Helper()
	patch := `{"metadata":{"finalizers":["` + strings.Join(finalizers, `","`) + `"]}}`
	if err := c.Patch(t.Context(), x, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// unpin takes all finalizers off a resource.
func unpin(t *testing.T, c client.Client, x client.Object) {
	t.Helper()
	err := c.Patch(t.Context(), x, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// TestPinningIsConflictSafe shows that pins come and go while somebody else writes the same resource all the time, and that nothing that
// they write is lost. Defect 2a.1 of provider-kubernetes.
func TestPinningIsConflictSafe(t *testing.T) {
	const rounds = 10
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		source := w.source(t, "source", nil)
		o := w.keeper("settings")
		create(t, c, o)
		awaitReady(t, c, o)

		stop := make(chan struct{})
		theirs := make(chan []string)
		go func() { theirs <- scribble(t, c, source.DeepCopy(), stop) }()
		for range rounds {
			x := source.DeepCopy()
			setReferences(t, c, o, w.onConfigMap("source"))
			awaitPinned(t, c, o, x, true)
			setReferences(t, c, o)
			awaitPinned(t, c, o, x, false)
		}
		close(stop)
		want := <-theirs
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, source.GetFinalizers()); diff != "" {
			t.Errorf("finalizers of somebody else, as they have written them last: -want, +got:\n%s", diff)
		}
		unpin(t, c, source)
	})
}

// scribble labels a ConfigMap without a pause and sometimes adds a finalizer, until it is told to stop. It returns the finalizers.
func scribble(t *testing.T, c client.Client, cm *corev1.ConfigMap, stop <-chan struct{}) []string {
	const labelsPerFinalizer = 20
	var written []string
	for n := 0; ; n++ {
		select {
		case <-stop:
			return written
		default:
		}
		next := "example.org/theirs-" + strconv.Itoa(len(written))
		cm.SetLabels(map[string]string{"n": strconv.Itoa(n)})
		if n%labelsPerFinalizer == 0 {
			cm.SetFinalizers(append(cm.GetFinalizers(), next))
		}
		err := c.Update(t.Context(), cm)
		if err == nil && n%labelsPerFinalizer == 0 {
			written = append(written, next)
		}
		if err == nil {
			continue
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			t.Error(err)
			return written
		}
	}
}

// TestReferredResourceStays shows that a deleted resource of any kind stays until the Object that refers to it is gone.
func TestReferredResourceStays(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		source := w.source(t, "source", map[string]string{"color": "red"})
		o := w.keeper("settings", w.from("source", "data.color", "data.color"))
		create(t, c, o)
		awaitReady(t, c, o)
		remove(t, c, source)
		touch(t, c, o, 1)
		awaitPinned(t, c, o, source, true)
		awaitReady(t, c, o)
		remove(t, c, o)
		awaitGone(t, c, o)
		awaitGone(t, c, source)
	})
}

// TestTerminatingReferenceIsAwaited shows that what goes already is not used, but its successor is.
func TestTerminatingReferenceIsAwaited(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		going := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
		going.SetFinalizers([]string{"example.org/theirs"})
		create(t, c, going)
		remove(t, c, going)
		o := w.keeper("settings", w.onConfigMap("source"))
		create(t, c, o)
		if m := awaitCondition(t, c, o, failed(commonv1.ReasonWaitingForReference)); !strings.Contains(m, "which is being deleted") {
			t.Errorf("message of condition Synced: got %q", m)
		}
		unpin(t, c, going)
		awaitGone(t, c, going)
		awaitPinned(t, c, o, w.source(t, "source", nil), true)
		awaitReady(t, c, o)
	})
}

// TestDeletionNeedsNoReference shows that an Object whose references lead nowhere any more can be deleted with its resource.
func TestDeletionNeedsNoReference(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		source := w.source(t, "source", map[string]string{"name": "chosen"})
		o := w.keeper("settings", w.from("source", "data.name", "metadata.name"))
		create(t, c, o)
		awaitReady(t, c, o)
		pause(t, c, o)
		unpin(t, c, source)
		remove(t, c, source)
		awaitGone(t, c, source)
		unpause(t, c, o)
		awaitCondition(t, c, o, failed(commonv1.ReasonWaitingForReference))
		remove(t, c, o)
		awaitGone(t, c, o)
		awaitGone(t, w.tc, w.kept("chosen"))
	})
}

// TestUnrecordedPinIsReleased shows that the finalizer an earlier provider has left, without a record, goes with the Object.
func TestUnrecordedPinIsReleased(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		o := w.keeper("settings", w.onConfigMap("source"), w.onConfigMap("missing"))
		o.SetManagementPolicies(neverDelete)
		o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
		o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
		create(t, c, o)
		source := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
		source.SetFinalizers([]string{referred(o)})
		create(t, c, source)
		remove(t, c, o)
		unpause(t, c, o)
		awaitGone(t, c, o)
		awaitPinned(t, c, o, source, false)
	})
}

// TestChain installs ten Objects that depend on each other, the last first, and deletes them at once. Each is made after the one it
// depends on and goes before it, without the pauses of a backoff in between.
func TestChain(t *testing.T) {
	const length, hop = 10, time.Second
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
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
			create(t, c, o)
		}
		for _, o := range chain {
			awaitReady(t, c, o)
		}
		made := moments(audit.Since(mark), w.target, "patch")
		checkOrder(t, "made", made, hop)

		mark = audit.Mark()
		for i := range chain { // The first first, so that each has dependents when its turn comes.
			remove(t, c, chain[length-1-i])
		}
		first := chain[length-1]
		message := awaitCondition(t, c, first, failed(commonv1.ReasonWaitingForDependents))
		if want := w.name("2"); !strings.HasSuffix(message, want) {
			t.Errorf("message of condition Synced of the first: want it to end with %s, got %q", want, message)
		}
		for _, o := range chain {
			awaitGone(t, c, o)
		}
		gone := moments(audit.Since(mark), w.target, "delete")
		slices.Reverse(gone)
		checkOrder(t, "deleted", gone, hop)
	})
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

// checkOrder checks that moments are of the numbers from 1 on, and that no two in a row are further apart than a hop.
func checkOrder(t *testing.T, what string, got []moment, hop time.Duration) {
	t.Helper()
	var want, order []string
	for i, m := range got {
		want = append(want, strconv.Itoa(i+1))
		order = append(order, m.number)
		if i == 0 {
			continue
		}
		if took := m.time.Sub(got[i-1].time).Abs(); took > hop {
			t.Errorf("%s was %s %s after its neighbour: want at most %s", m.number, what, took, hop)
		}
	}
	if diff := cmp.Diff(want, order); diff != "" || len(order) < 2 {
		t.Errorf("order in which resources were %s: -want, +got:\n%s", what, diff)
	}
}

// TestKeptResourceWaitsToo shows that an Object which leaves its resource waits for its dependents as well: what it refers to itself
// must not go before those.
func TestKeptResourceWaitsToo(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		first, second, third := w.keeper("1"), w.keeper("2", w.on("1")), w.keeper("3", w.on("2"))
		second.SetManagementPolicies(neverDelete)
		create(t, c, first, second, third)
		awaitReady(t, c, third)
		remove(t, c, first)
		remove(t, c, second)
		awaitCondition(t, c, first, failed(commonv1.ReasonWaitingForDependents))
		if m := awaitCondition(t, c, second, failed(commonv1.ReasonWaitingForDependents)); !strings.HasSuffix(m, w.name("3")) {
			t.Errorf("message of condition Synced: got %q", m)
		}
		staysUnwritten(t, c, first, second)
		for _, o := range []build.Object{first, second} {
			if got := events(t, c, o, "waiting for dependents"); len(got) != 1 {
				t.Errorf("events that say so about %s: want 1, got %d", o.GetName(), len(got))
			}
		}
		remove(t, c, third)
		for _, o := range []build.Object{third, second, first} {
			awaitGone(t, c, o)
		}
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(w.kept("2")), w.kept("2")); err != nil {
			t.Errorf("the resource must be left: %v", err)
		}
	})
}

// TestCycle shows that Objects which refer to each other in a circle say so, and can be deleted.
func TestCycle(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		a, b, d := w.keeper("a", w.on("b")), w.keeper("b", w.on("d")), w.keeper("d")
		self, outside := w.keeper("self", w.on("self")), w.keeper("outside", w.on("d"))
		create(t, c, a, b, d, self, outside)
		awaitReady(t, c, a)
		awaitReady(t, c, outside)
		awaitPinned(t, c, a, b, true)
		message := awaitCondition(t, c, self, failed(commonv1.ReasonReferenceCycle))
		if want := w.name("self") + " -> Object "; !strings.Contains(message, want) {
			t.Errorf("message of condition Synced: want it to contain %q, got %q", want, message)
		}

		setReferences(t, c, d, w.on("a"))
		for _, o := range []build.Object{a, b, d} {
			message := awaitCondition(t, c, o, failed(commonv1.ReasonReferenceCycle))
			for _, member := range []string{"a", "b", "d"} {
				if !strings.Contains(message, w.name(member)) {
					t.Errorf("message of condition Synced of %s: want it to name %s, got %q", o.GetName(), member, message)
				}
			}
			awaitRecorded(t, c, o)
		}
		awaitPinned(t, c, a, b, false)
		awaitPinned(t, c, outside, d, true)

		setReferences(t, c, d)
		for _, o := range []build.Object{a, b, d} {
			awaitCondition(t, c, o, synced)
		}
		setReferences(t, c, d, w.on("a"))
		awaitCondition(t, c, b, failed(commonv1.ReasonReferenceCycle))
		awaitRecorded(t, c, a)
		for _, o := range []build.Object{a, b, d, outside, self} {
			remove(t, c, o)
		}
		for _, o := range []build.Object{a, b, d, outside, self} {
			awaitGone(t, c, o)
		}
	})
}

// TestReferencesAtRestCostNothing shows that settled Objects with references of all kinds ask nothing of any server over some polls.
func TestReferencesAtRestCostNothing(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		who := w.target + "-quiet"
		w.config = connectAs(t, w, target.User(t, who, "system:masters"))
		w.source(t, "source", map[string]string{"color": "red"})
		one := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "one"), Data: map[string]string{"size": "2"}}
		one.SetLabels(map[string]string{"app": "paint"})
		create(t, c, one)
		first := w.keeper("1", w.from("source", "data.color", "data.color"))
		second := w.keeper("2", w.on("1"), commonv1.Reference{ToFieldPath: new("data.size"), FromObject: &commonv1.FromObject{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, MatchLabels: one.GetLabels(), FieldPath: "data.size",
		}})
		create(t, c, first, second)
		awaitReady(t, c, second)
		awaitPinned(t, c, second, first, true)
		awaitReady(t, c, first)
		there, here := target.Audit(t), local.Audit(t)
		thereMark := there.Mark()
		staysUnwritten(t, c, first, second)
		hereMark := here.Mark()
		kube.Throughout(t, 2*calm, "no request", func() (bool, string) {
			asked := append(slices.Clone(there.Since(thereMark).By(who)), about(here.Since(hereMark).By(user), w)...)
			return len(asked) == 0, asked.String()
		})
	})
}

// about returns the requests about what a world holds on the control plane.
func about(requests kube.Requests, w world) kube.Requests {
	var found kube.Requests
	for _, e := range requests {
		if e.Namespace == w.namespace || strings.HasPrefix(e.Name, w.target) {
			found = append(found, e)
		}
	}
	return found
}

// TestReferencesStayInNamespace shows that an Object of a namespace neither reads nor pins what lies outside of it: not in another
// namespace, not cluster-scoped, not through labels. Defect 2c of provider-kubernetes.
func TestReferencesStayInNamespace(t *testing.T) {
	c := provide(t)
	foreign := local.Namespace(t)
	theirs := secret(foreign, "theirs", []byte("hidden"))
	theirs.SetLabels(map[string]string{"app": "theirs"})
	create(t, c, theirs)
	for name, tc := range map[string]struct {
		reason string
		ref    commonv1.Reference
		want   string
		wait   xpv2.ConditionReason
	}{
		"OtherNamespace": {
			reason: "A Secret of another namespace is not read.",
			ref:    patches(commonv1.PatchesFrom{APIVersion: "v1", Kind: "Secret", Namespace: foreign, Name: "theirs", FieldPath: "data.kubeconfig"}),
			want:   "is not that of the Object", wait: commonv1.ReasonInvalidReference,
		},
		"Selected": {
			reason: "Nor is it found by its labels.",
			ref: patches(commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret", Namespace: foreign, FieldPath: "data.kubeconfig", Selector: selectorOf("app", "theirs"),
			}),
			want: "is not that of the Object", wait: commonv1.ReasonInvalidReference,
		},
		"SelectedAnywhere": {
			reason: "Labels are looked for in the own namespace.",
			ref: patches(commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret", FieldPath: "data.kubeconfig", Selector: selectorOf("app", "theirs"),
			}),
			want: "to exist", wait: commonv1.ReasonWaitingForReference,
		},
		"ClusterScoped": {
			reason: "What belongs to no namespace is not pinned.",
			ref:    commonv1.Reference{DependsOn: &commonv1.DependsOn{APIVersion: "v1", Kind: "Namespace", Name: foreign}},
			want:   "is cluster-scoped", wait: commonv1.ReasonInvalidReference,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.keeper("settings", tc.ref)
			create(t, c, o)
			message := awaitCondition(t, c, o, failed(tc.wait))
			if !strings.Contains(message, tc.want) || strings.Contains(message, "hidden") {
				t.Errorf("%s\nmessage of condition Synced: want it to contain %q, got %q", tc.reason, tc.want, message)
			}
			if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(w.kept("settings")), w.kept("settings")); !apierrors.IsNotFound(err) {
				t.Errorf("%s\nnothing must be applied: %v", tc.reason, err)
			}
			awaitRecorded(t, c, o)
			awaitPinned(t, c, o, theirs, false)
		})
	}
}

// TestStrandedFinalizersGo shows that what an earlier provider has left on Objects does not keep them: finalizers of Objects that are
// gone, or that refer to something else. Those in a cycle do not wait for each other. Defect 2a.2 of provider-kubernetes.
func TestStrandedFinalizersGo(t *testing.T) {
	const patience = time.Minute // There is no sign when the last has gone for good: it is looked for each half minute.
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		other := w.keeper("other")
		create(t, c, other)
		gone := w.keeper("gone")
		gone.SetFinalizers([]string{commonv1.FinalizerReferredPrefix + "00000000-0000-0000-0000-000000000000"})
		elsewhere := w.keeper("elsewhere")
		elsewhere.SetFinalizers([]string{referred(other)})
		create(t, c, gone, elsewhere)
		awaitReady(t, c, gone)
		awaitReady(t, c, elsewhere)

		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		for _, o := range []build.Object{a, b} {
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			create(t, c, o)
		}
		for x, of := range map[build.Object]build.Object{a: b, b: a} {
			setFinalizers(t, c, x, "finalizer.managedresource.crossplane.io", referred(of))
		}
		for _, o := range []build.Object{gone, elsewhere, a, b} {
			remove(t, c, o)
		}
		unpause(t, c, a)
		unpause(t, c, b)
		begin := time.Now()
		for _, o := range []build.Object{a, b, gone, elsewhere} {
			kube.Eventually(t, patience, o.GetName()+" to be gone", func() (bool, string) {
				err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
				return apierrors.IsNotFound(err), conditions(o)
			})
			if took := time.Since(begin); o == b && took > soon {
				t.Errorf("Objects in a cycle: want them gone at once, took %s", took)
			}
		}
	})
}

// TestInheritedCycleIsLoosened shows that Objects in a cycle that an earlier provider has pinned lose the finalizers of each other.
func TestInheritedCycleIsLoosened(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		a, b := w.keeper("a", w.on("b")), w.keeper("b", w.on("a"))
		for _, o := range []build.Object{a, b} {
			o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			create(t, c, o)
		}
		for x, of := range map[build.Object]build.Object{a: b, b: a} {
			setFinalizers(t, c, x, "finalizer.managedresource.crossplane.io", referred(of))
		}
		unpause(t, c, a)
		unpause(t, c, b)
		awaitPinned(t, c, a, b, false)
		awaitPinned(t, c, b, a, false)
		awaitCondition(t, c, a, failed(commonv1.ReasonReferenceCycle))
		remove(t, c, a)
		awaitGone(t, c, a)
	})
}
