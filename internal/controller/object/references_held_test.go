package object_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferencesArePinnedAndReleased shows that a reference added later pins what it names, that a finalizer somebody
// takes off comes back, and that what is no longer referred to is let go. provider-kubernetes pins only what it refers
// to at first, and releases only what it refers to at last (its #371 and #28).
func TestReferencesArePinnedAndReleased(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		a, b := w.source(t, "a", nil), w.source(t, "b", nil)
		o := w.keeper("settings")
		createReady(t, w.c, o)

		mark := local.Audit(t).Mark()
		setReferences(t, w.c, o, w.onConfigMap("a"))
		awaitPinned(t, w.c, o, a, true)
		checkRecordedFirst(t, mark, o, a)
		unpin(t, w.c, a)
		awaitPinned(t, w.c, o, a, true)

		setReferences(t, w.c, o, w.onConfigMap("b"))
		awaitPinned(t, w.c, o, a, false)
		awaitPinned(t, w.c, o, b, true)
		awaitRecorded(t, w.c, o, "ConfigMap b")

		setReferences(t, w.c, o, w.onConfigMap("missing"))
		awaitPinned(t, w.c, o, b, false)
		setReferences(t, w.c, o, w.onConfigMap("a"), w.onConfigMap("b"))
		awaitPinned(t, w.c, o, a, true)
		setReferences(t, w.c, o)
		awaitPinned(t, w.c, o, a, false)
		awaitPinned(t, w.c, o, b, false)
		awaitRecorded(t, w.c, o)
		awaitReady(t, w.c, o)
	})
}

// checkRecordedFirst checks that the status of an Object was written before the finalizer on what it refers to: a crash
// in between must not leave a finalizer that nobody knows of.
func checkRecordedFirst(t *testing.T, mark kube.Mark, o build.Object, x client.Object) {
	t.Helper()
	record, pin := -1, -1
	// They take effect before they are answered.
	kube.Eventually(t, "both writes to be in the audit", func() (bool, string) {
		requests := local.Audit(t).Since(mark).By(user)
		for i, e := range slices.Backward(requests) {
			switch {
			case e.Verb == "patch" && e.Name == o.GetName() && strings.HasSuffix(e.Subject(), "/status"):
				record = i
			case e.Verb == "patch" && e.Name == x.GetName() && e.Subject() == "configmaps" &&
				e.Namespace == x.GetNamespace():
				pin = i
			}
		}
		return record >= 0 && pin >= 0, requests.String()
	})
	if pin < record {
		t.Errorf("want the record before the finalizer, got requests %d and %d", record, pin)
	}
}

// setFinalizers gives a resource other finalizers.
func setFinalizers(t *testing.T, c client.Client, x client.Object, finalizers ...string) {
	t.Helper()
	patch := `{"metadata":{"finalizers":["` + strings.Join(finalizers, `","`) + `"]}}`
	kube.Patch(t, c, x, patch)
}

// unpin takes all finalizers off a resource.
func unpin(t *testing.T, c client.Client, x client.Object) {
	t.Helper()
	err := c.Patch(t.Context(), x, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// TestPinningIsConflictSafe shows that pins come and go while somebody else writes the same resource all the time, and
// that nothing that they write is lost. provider-kubernetes writes the whole resource, and after a conflict never again
// (its #371).
func TestPinningIsConflictSafe(t *testing.T) {
	const rounds = 10
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", nil)
		o := w.keeper("settings")
		createReady(t, w.c, o)

		stop := make(chan struct{})
		theirs := make(chan []string)
		go func() { theirs <- scribble(t, w.c, source.DeepCopy(), stop) }()
		for range rounds {
			x := source.DeepCopy()
			setReferences(t, w.c, o, w.onConfigMap("source"))
			awaitPinned(t, w.c, o, x, true)
			setReferences(t, w.c, o)
			awaitPinned(t, w.c, o, x, false)
		}
		close(stop)
		want := <-theirs
		kube.Get(t, w.c, client.ObjectKeyFromObject(source), source)
		if diff := cmp.Diff(want, source.GetFinalizers()); diff != "" {
			t.Errorf("finalizers of somebody else, as they have written them last: -want, +got:\n%s", diff)
		}
		unpin(t, w.c, source)
	})
}

// scribble labels a ConfigMap without a pause and sometimes adds a finalizer, until it is told to stop. It returns the
// finalizers.
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
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", map[string]string{"color": "red"})
		o := w.keeper("settings", w.from("source", "data.color", "data.color"))
		createReady(t, w.c, o)
		kube.Delete(t, w.c, source)
		touch(t, w.c, o)
		awaitPinned(t, w.c, o, source, true)
		awaitReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.c, source)
	})
}

// TestTerminatingReferenceIsAwaited shows that what goes already is not used, but its successor is.
func TestTerminatingReferenceIsAwaited(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		going := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
		going.SetFinalizers([]string{"example.org/theirs"})
		kube.Create(t, w.c, going)
		kube.Delete(t, w.c, going)
		o := w.keeper("settings", w.onConfigMap("source"))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference), "which is being deleted")
		unpin(t, w.c, going)
		kube.AwaitGone(t, w.c, going)
		awaitPinned(t, w.c, o, w.source(t, "source", nil), true)
		awaitReady(t, w.c, o)
	})
}

// TestDeletionNeedsNoReference shows that an Object whose references lead nowhere any more can be deleted with its
// resource.
func TestDeletionNeedsNoReference(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", map[string]string{"name": "chosen"})
		o := w.keeper("settings", w.from("source", "data.name", "metadata.name"))
		createReady(t, w.c, o)
		pause(t, w.c, o)
		unpin(t, w.c, source)
		kube.Remove(t, w.c, source)
		unpause(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference))
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, w.kept("chosen"))
	})
}

// TestUnrecordedPinIsReleased shows that the finalizer an earlier provider has left, without a record, goes with the
// Object.
func TestUnrecordedPinIsReleased(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keeper("settings", w.onConfigMap("source"), w.onConfigMap("missing"))
		o.SetManagementPolicies(neverDelete)
		o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
		o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
		kube.Create(t, w.c, o)
		source := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
		source.SetFinalizers([]string{referred(o)})
		kube.Create(t, w.c, source)
		kube.Delete(t, w.c, o)
		unpause(t, w.c, o)
		kube.AwaitGone(t, w.c, o)
		awaitPinned(t, w.c, o, source, false)
	})
}
