package objectsync_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var errBoom = errors.New("boom")

// A fault stops a program at one of its writes: before it reaches the server, or before the answer comes back.
type fault struct {
	left  int // writes until then
	after bool
	hit   bool
}

func (f *fault) do(w *write) error {
	if f.hit {
		return errBoom
	}
	if f.left--; f.left > 0 {
		return w.send()
	}
	f.hit = true
	if f.after {
		_ = w.send()
	}
	return errBoom
}

// stopping returns an input with a fault on both sides.
func stopping(in objectsync.Input, f *fault) objectsync.Input {
	in.Workspace.Side, in.Service = tap(in.Workspace.Side, f.do), tap(in.Service, f.do)
	return in
}

// TestKilled shows that it does not matter between which two writes the program ends: the next brings the same about.
func TestKilled(t *testing.T) {
	for _, phase := range []string{"create", "update", "delete"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,answered=%t", phase, !after), func(t *testing.T) {
				for n := 1; ; n++ {
					if n > 12 {
						t.Fatal("it never gets through")
					}
					if !killed(t, phase, &fault{left: n, after: after}) {
						if n < 3 {
							t.Errorf("only %d writes in phase %s", n-1, phase)
						}
						return
					}
				}
			})
		}
	}
}

// killed goes through the life of an object, is stopped by a fault in one phase, and reports whether that came about.
func killed(t *testing.T, phase string, f *fault) bool {
	t.Helper()
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	ns := w.input.Object.Namespace
	sync := func(now string) {
		if now == phase {
			for range 6 {
				if _, err := s.Sync(t.Context(), stopping(w.input, f)); err != nil {
					break
				}
			}
		}
		w.mustSync(s, w.input)
	}
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.create(w.above, newSecret(ns, "tls", "one"))
	w.create(w.above, newSecret(ns, "other", "two"))
	sync("create")
	w.patch(w.above, src, `{"spec":{"secretName":"other","size":null,"new":{"a":"b"}}}`)
	sync("update")
	if diff := cmp.Diff(w.source(w.input).Object["spec"], w.theCopy(w.cluster).Object["spec"]); diff != "" {
		t.Errorf("%s, %+v: -source, +copy:\n%s", phase, *f, diff)
	}
	if w.secretOf(w.below, w.cluster, "tls") != nil || w.secretOf(w.below, w.cluster, "other")["k"] != "two" {
		t.Errorf("%s, %+v: want a copy of the other Secret alone", phase, *f)
	}
	kube.Delete(t, w.above, src)
	sync("delete")
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 ||
		w.secretOf(w.below, w.cluster, "other") != nil {
		t.Errorf("%s, %+v: something is left", phase, *f)
	}
	for _, name := range []string{"tls", "other"} {
		s := newSecret(ns, name, "")
		if err := w.above.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, s); err != nil ||
			len(s.Finalizers) != 0 {
			t.Errorf("%s, %+v: Secret %s is still held: %v, %v", phase, *f, name, s.Finalizers, err)
		}
	}
	return f.hit
}

// TestOthersFinalizers shows that a finalizer which somebody adds while ours is put on an object, or taken off one that
// has left the filter and has no copy any more, is not lost, although the list is written as a whole.
func TestOthersFinalizers(t *testing.T) {
	const other = "example.org/other"
	for name, leaves := range map[string]bool{"Hold": false, "LetGo": true} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			above, at := workspaceOf(w.input), things.Workspace.GroupVersionResource
			s := w.syncer(&v1alpha1.PublishedResourceSpec{Filter: &v1alpha1.ResourceFilter{
				Resource: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
			}})
			above.put(at, labelledX(thing(w.input.Object)))
			if leaves {
				w.settle(s, w.input)
				above.set(at, "default", "web", map[string]any{}, "metadata", "labels")
				clear(below.all[things.Service.GroupVersionResource])
			}
			in := w.input
			in.Workspace.Side = w.lately(in.Workspace.Side, at, in.Object)
			u := above.get(at, in.Object).DeepCopy()
			all := append(u.GetFinalizers(), other)
			u.SetFinalizers(all)
			u.SetResourceVersion("of the other's change")
			above.put(at, u)
			if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
				t.Errorf("want a conflict, got %v", err)
			}
			if got := w.source(w.input).GetFinalizers(); !slices.Equal(got, all) {
				t.Errorf("want %v as they were, got %v", all, got)
			}
			w.settle(s, w.input)
			if got := w.source(w.input).GetFinalizers(); !slices.Contains(got, other) || len(got) == len(all) {
				t.Errorf("after the next look want the other's, and ours as it is to be, got %v", got)
			}
		})
	}
}

// TestFinalizerIsTakenOff shows that nothing is made of an object that is not held, as it could go without a word, and
// what has been made of it would stay. If its workspace takes our finalizer off again, as a webhook may, that is a
// refusal: it rests, and the consumer is told.
func TestFinalizerIsTakenOff(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	failing, stripped := w.input, w.input
	failing.Workspace.Side = tap(failing.Workspace.Side, func(*write) error { return errBoom })
	stripped.Workspace.Side = tap(stripped.Workspace.Side, func(w *write) error {
		w.patch = []byte(`{}`)
		return w.send()
	})
	_, below := w.writes(func() {
		if _, err := s.Sync(t.Context(), failing); !errors.Is(err, errBoom) {
			t.Errorf("want %v, got %v", errBoom, err)
		}
		res, err := s.Sync(t.Context(), stripped)
		if r := objectsync.RefusalOf(err); r == nil || !r.Workspace || r.Cause != objectsync.RefusedByPolicy {
			t.Errorf("want a refusal of the workspace, got %v", err)
		}
		if len(res.Events) != 1 || res.Events[0].Reason != objectsync.ReasonRejected {
			t.Errorf("want the consumer told of the refusal alone, got %v", res.Events)
		}
	})
	if len(below) != 0 {
		t.Errorf("want nothing made below, got %v", below)
	}
	w.mustSync(s, w.input)
}

// unseen returns the input while its watch of copies lags behind.
func unseen(in objectsync.Input) objectsync.Input {
	in.Service = blindTo(in.Service, things.Service.GroupVersionResource, nil)
	return in
}

// TestMovedBeforeSeen shows that a copy whose creation was not answered, and that the watch does not show yet, is not
// made once more by a rule for names that has changed meanwhile, nor left behind when its object is deleted.
func TestMovedBeforeSeen(t *testing.T) {
	w, below := withoutServers(t)
	named := func(name string) *objectsync.Syncer {
		return w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: name}})
	}
	enter(w.input, map[string]any{"size": "L"})
	if _, err := named("before").Sync(t.Context(), w.input); err != nil {
		t.Fatal(err)
	}
	if err := w.resync(named("after"), unseen(w.input)); err != nil {
		t.Error(err)
	}
	all := below.all[things.Service.GroupVersionResource]
	if u := all[types.NamespacedName{Namespace: w.cluster, Name: "before"}]; u == nil || len(all) != 1 {
		t.Errorf("want the one copy, got %v", all)
	}
	workspaceOf(w.input).end(things.Workspace.GroupVersionResource, w.input.Object)
	if err := w.resync(named("after"), unseen(w.input)); !apierrors.IsConflict(err) {
		t.Errorf("want it to wait for the watch, got %v", err)
	}
	w.remove(named("after"), w.input)
	if len(all) != 0 {
		t.Errorf("want the copy gone, got %v", all)
	}
}

// TestUnlabelledCopyKeepsState shows that the state of an object that is not seen stays as long as the server has the
// copy, whose labels an operator may have taken off.
func TestUnlabelledCopyKeepsState(t *testing.T) {
	w, below := withoutServers(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	enter(w.input, map[string]any{})
	w.settle(s, w.input)
	workspaceOf(w.input).drop(things.Workspace.GroupVersionResource, w.input.Object)
	u := w.theCopy(w.cluster)
	below.set(things.Service.GroupVersionResource, u.GetNamespace(), u.GetName(), map[string]any{}, "metadata", "labels")
	err := s.Release(t.Context(), unseen(w.input))
	if states := below.secretNames("states"); !apierrors.IsConflict(err) || len(states) != 1 {
		t.Errorf("want the state kept for the copy, got %v, %v", states, err)
	}
	below.drop(things.Service.GroupVersionResource, client.ObjectKeyFromObject(u))
	err = s.Release(t.Context(), unseen(w.input))
	if states := below.secretNames("states"); err != nil || len(states) != 0 {
		t.Errorf("want nothing left, got %v, %v", states, err)
	}
}
