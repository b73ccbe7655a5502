package objectsync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	relatedrules "github.com/crossplane-contrib/provider-kcp/internal/related"
)

// TestManyRelatedAreRefused shows that an object may name as many related objects as it may, and not one more.
func TestManyRelatedAreRefused(t *testing.T) {
	m := newManyRelated(t)
	m.name(relatedrules.Max)
	m.fill(relatedrules.Max, "b25l")
	m.pass(relatedrules.Max)
	m.name(relatedrules.Max + 1)
	if _, err := m.syncer.Sync(t.Context(), m.input); !errors.Is(err, relatedrules.ErrTooMany) {
		t.Errorf("want ErrTooMany, got %v", err)
	}
}

// TestRelatedIsReadOnce shows that the content of a related object is read once for each of its states, and that of its
// copy only for a change of that, that several which come at one time are remembered by one write before their copies
// are made and one after that, and that no more is held than can be remembered.
func TestRelatedIsReadOnce(t *testing.T) {
	const many = 3
	m := newManyRelated(t)
	m.input.InStep = map[objectsync.Record]objectsync.Versions{}
	remembered := 0
	m.input.Service = tap(m.input.Service, func(w *write) error {
		if w.namespace == "states" {
			remembered++
		}
		return w.send()
	})
	want := func(what string, above, below int) {
		t.Helper()
		if m.above.reads != above || m.below.reads != below {
			t.Errorf("%s: want %d and %d reads, got %d and %d", what, above, below, m.above.reads, m.below.reads)
		}
		m.above.reads, m.below.reads = 0, 0
	}
	m.pass(0)
	want("an object without related ones", 0, 0)
	m.name(many)
	m.fill(many, "b25l")
	remembered = 0
	m.pass(many)
	if want("new ones", many, 0); remembered != 2 {
		t.Errorf("want new ones remembered by two writes, got %d", remembered)
	}
	m.pass(many)
	want("nothing new", 0, 0)
	m.fill(1, "dHdv")
	m.pass(many)
	if want("a change", 1, 1); m.below.valueOf(m.cluster, "s0") != "dHdv" {
		t.Error("the change has not come")
	}
	m.fill(1, "dHdv")
	m.pass(many)
	want("a change of nothing that is copied", 1, 0)
	m.input.InStep = map[objectsync.Record]objectsync.Versions{}
	m.pass(many)
	want("a restart", many, 0)
	m.fill(many, strings.Repeat("b25l", 100_000))
	if _, err := m.syncer.Sync(t.Context(), m.input); !errors.Is(err, objectsync.ErrTooLarge) {
		t.Errorf("want more refused than can be remembered, got %v", err)
	}
	m.copies(many)
}

// A vanishing server has nothing more of what a cache shows.
type vanishing struct{ objectsync.Writer }

// Live is that of a writer.
func (vanishing) Live(_ context.Context, o objectsync.Ref) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(o.GVR().GroupResource(), o.Name)
}

// TestRelatedVanishes shows that a related object that the server has no more is not gone before the cache tells.
func TestRelatedVanishes(t *testing.T) {
	m := newManyRelated(t)
	m.name(1)
	m.fill(1, "b25l")
	m.pass(1)
	in := m.input
	in.Workspace.Writer = vanishing{in.Workspace.Writer}
	in.Workspace.Side = tap(in.Workspace.Side, writesNothing(t))
	in.Service = tap(in.Service, writesNothing(t))
	if _, err := m.syncer.Sync(t.Context(), in); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, got %v", err)
	}
	m.copies(1)
}

// A manyRelated is an object that names many Secrets. Both sides are in memory, so that nothing but the sync costs
// anything.
type manyRelated struct {
	*world

	syncer       *objectsync.Syncer
	above, below *memory
}

func newManyRelated(t *testing.T) *manyRelated {
	t.Helper()
	w, below := withoutServers(t)
	w.input.Holders = nobody{}
	m := &manyRelated{world: w, above: workspaceOf(w.input), below: below}
	m.syncer = w.syncer(related(v1alpha1.OriginKCP, byReference("spec.list.#.secret")))
	m.above.put(things.Workspace.GroupVersionResource, thing(m.input.Object))
	return m
}

// name has the object name a number of Secrets.
func (m *manyRelated) name(n int) {
	list := make([]any, 0, n)
	for i := range n {
		list = append(list, map[string]any{"secret": fmt.Sprintf("s%d", i)})
	}
	enter(m.input, map[string]any{"list": list})
}

// fill gives a number of Secrets a value.
func (m *manyRelated) fill(n int, value string) {
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		m.above.secretIn("default", name, value, func(u *unstructured.Unstructured) {
			u.SetUID(types.UID("uid of " + name))
			u.SetResourceVersion(string(m.above.nextUID()))
			was := m.above.get(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: name})
			if was != nil {
				u.SetFinalizers(was.GetFinalizers())
			}
		})
	}
}

// pass syncs the object once. Then so many copies are to be there.
func (m *manyRelated) pass(copies int) {
	m.Helper()
	res, err := m.syncer.Sync(m.Context(), m.input)
	if err != nil {
		m.Fatal(err)
	}
	if m.input.InStep != nil {
		m.input.InStep = res.InStep
	}
	m.copies(copies)
}

// copies checks how many copies there are.
func (m *manyRelated) copies(copies int) {
	m.Helper()
	if got := len(m.below.secretNames(m.cluster)); got != copies {
		m.Fatalf("want %d copies, got %d", copies, got)
	}
}

// TestUnseenRelated shows what becomes of the copy of a related object of the workspace that is not seen any more: it
// stays until the object is seen again, or until all go that have it.
func TestUnseenRelated(t *testing.T) {
	origin := types.NamespacedName{Namespace: "default", Name: "s0"}
	for name, tc := range map[string]struct {
		reason string
		then   func(m *manyRelated, r objectsync.Record)
		hidden bool // The workspace shows some labels only.
		copies int
		record bool // It is remembered.
	}{
		"Named":   {reason: "Nobody has deleted it.", copies: 1, record: true},
		"Unnamed": {reason: "It may be named again.", then: unnamed, copies: 1, record: true},
		"SeenAgain": {reason: "It is not wanted.", then: func(m *manyRelated, _ objectsync.Record) {
			m.name(0)
			m.fill(1, "b25l")
		}},
		"Ends": {reason: "Nobody needs the copy.", then: ends},
		"Sibling": {
			reason: "Another object needs the copy.", copies: 1,
			then: func(m *manyRelated, r objectsync.Record) { m.input.Holders = keeper{record: r}; ends(m, r) },
		},
		"CopyDeleted":       {reason: "Nothing is left of it.", then: copyDeleted},
		"Hidden":            {reason: "Our finalizer may be on it.", hidden: true, copies: 1, record: true},
		"HiddenEnds":        {reason: "So it may with the object.", then: ends, hidden: true, copies: 1, record: true},
		"HiddenCopyDeleted": {reason: "And without a copy.", then: copyDeleted, hidden: true, record: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t)
			m.name(1)
			m.fill(1, "b25l")
			res, err := m.syncer.Sync(t.Context(), m.input)
			if err != nil {
				t.Fatal(err)
			}
			m.above.drop(objectsync.Secrets, origin)
			if tc.then != nil {
				tc.then(m, res.Related[0].Record)
			}
			m.input.Workspace.ShowsAll = func(schema.GroupResource) bool { return !tc.hidden }
			err = m.resync(m.syncer, m.input)
			if (objectsync.RefusalOf(err) != nil) != tc.hidden || err != nil && !tc.hidden {
				t.Errorf("%s got %v", tc.reason, err)
			}
			m.copies(tc.copies)
			record := slices.ContainsFunc(m.below.secretNames("states"), func(state string) bool {
				return len(objectsync.HeldBy(m.below.get(objectsync.Secrets,
					types.NamespacedName{Namespace: "states", Name: state}))) > 0
			})
			if record != tc.record {
				t.Errorf("%s remembered: %t", tc.reason, record)
			}
			if u := m.above.get(objectsync.Secrets, origin); u != nil && objectsync.HasFinalizer(u) {
				t.Errorf("%s it is still held", tc.reason)
			}
		})
	}
}

// What becomes of an object that names a Secret, and of the copy of that.
func unnamed(m *manyRelated, _ objectsync.Record) { m.name(0) }

func ends(m *manyRelated, _ objectsync.Record) {
	m.above.end(things.Workspace.GroupVersionResource, m.input.Object)
}

func copyDeleted(m *manyRelated, r objectsync.Record) {
	m.name(0)
	m.below.drop(objectsync.Secrets, r.To.NamespacedName())
}

// TestFilterIsLeft shows that an object which leaves the filter rests: it is held, its copy is marked once and stays
// with all that belongs to it, and is in step again when the object comes back. It goes with the object. If an operator
// deletes the copy, all else goes, and the object is let go, also if its consumer has taken our finalizer off.
func TestFilterIsLeft(t *testing.T) {
	const day = "2020-01-01"
	from, to := things.Workspace.GroupVersionResource, things.Service.GroupVersionResource
	served := map[string]any{"served": "yes"}
	for name, tc := range map[string]struct {
		then         func(m *manyRelated, at types.NamespacedName)
		copies, held bool // at the end
	}{
		"ComesBack": {copies: true, held: true, then: func(m *manyRelated, _ types.NamespacedName) {
			m.above.set(from, "default", "web", served, "metadata", "labels")
		}},
		"Deleted":     {then: func(m *manyRelated, _ types.NamespacedName) { m.above.end(from, m.input.Object) }},
		"CopyDeleted": {then: func(m *manyRelated, at types.NamespacedName) { m.below.drop(to, at) }},
		"CopyDeletedUnheld": {then: func(m *manyRelated, at types.NamespacedName) {
			m.above.set(from, "default", "web", []any{}, "metadata", "finalizers") // The consumer takes it off.
			m.below.drop(to, at)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.list.#.secret"))
			spec.Filter = &v1alpha1.ResourceFilter{
				Resource: &metav1.LabelSelector{MatchLabels: map[string]string{"served": "yes"}},
			}
			m.syncer = m.world.syncer(spec)
			m.above.set(from, "default", "web", served, "metadata", "labels")
			m.name(1)
			m.fill(1, "b25l")
			m.pass(1)
			m.leaveFilter()
			m.name(0)
			m.pass(1)
			copied, state := m.theCopy(m.cluster), m.below.get(objectsync.Secrets, types.NamespacedName{
				Namespace: "states", Name: m.below.secretNames("states")[0],
			})
			marked, err := time.Parse(time.DateOnly, copied.GetLabels()[objectsync.LabelOrphaned])
			if err != nil || time.Since(marked) > 48*time.Hour || len(state.GetAnnotations()) != 0 ||
				copied.GetAnnotations()[objectsync.AnnotationPublication] != "" {
				t.Errorf("want the copy marked, and of no publication, got %v, %v", copied, state.Object["metadata"])
			}
			at := types.NamespacedName{Namespace: copied.GetNamespace(), Name: copied.GetName()}
			m.below.set(to, at.Namespace, at.Name, day, "metadata", "labels", objectsync.LabelOrphaned)
			in := m.input
			in.Workspace.Side, in.Service = tap(in.Workspace.Side, writesNothing(t)), tap(in.Service, writesNothing(t))
			if _, err := m.syncer.Sync(t.Context(), in); err != nil {
				t.Error(err)
			}
			m.isHeld(true)

			tc.then(m, at)
			m.pass(0)
			if m.isHeld(tc.held); len(m.below.secretNames("states")) > 0 != tc.copies {
				t.Errorf("states: %v", m.below.secretNames("states"))
			}
			for _, u := range m.below.all[to] {
				if diff := cmp.Diff(map[string]any{"list": []any{}}, u.Object["spec"]); !tc.copies || diff != "" ||
					objectsync.IsOrphaned(u) || u.GetAnnotations()[objectsync.AnnotationPublication] == "" {
					t.Errorf("want the copy in step: %t, got %v", tc.copies, u)
				}
			}
		})
	}
}

// isHeld checks whether the object is held, if it is there.
func (m *manyRelated) isHeld(want bool) {
	m.Helper()
	u := m.above.get(things.Workspace.GroupVersionResource, m.input.Object)
	if u != nil && objectsync.HasFinalizer(u) != want {
		m.Errorf("want the object held: %t, got %v", want, u.GetFinalizers())
	}
}
