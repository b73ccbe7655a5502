package objectsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// TestWorkspaceWithoutRoom shows that an object is refused for which its workspace has no room, as it names more than
// before or has more in it, that nothing is deleted for that, and that it may go.
func TestWorkspaceWithoutRoom(t *testing.T) {
	const many = 3
	for reason, grow := range map[string]func(*manyRelated){
		"Names": func(m *manyRelated) { m.name(many + 100) },
		"Bytes": func(m *manyRelated) { m.fill(many, strings.Repeat("dHdv", 20_000)) },
	} {
		m, full, most := newManyRelated(t), false, 0
		m.input.MayUse = func(bytes int) bool {
			if !full {
				most = max(most, bytes)
			}
			return bytes <= most
		}
		m.name(many)
		m.fill(many, strings.Repeat("b25l", 10_000))
		m.pass(many)
		if least := (many - 1) * 40_000; most < least {
			t.Errorf("%s: want more than %d bytes asked for, got %d", reason, least, most)
		}
		full = true
		was := m.below.valueOf(m.cluster, "s0")
		grow(m)
		res, err := m.syncer.Sync(t.Context(), m.input)
		if !errors.Is(err, objectsync.ErrNoRoom) || !slices.ContainsFunc(res.Events,
			func(e objectsync.Event) bool { return e.Reason == objectsync.ReasonWorkspaceLimit }) {
			t.Errorf("%s: want it refused, and the consumer told, got %v, %v", reason, err, res.Events)
		}
		if m.copies(many); m.below.valueOf(m.cluster, "s0") != was {
			t.Errorf("%s: written to the copy and not remembered", reason)
		}
		full = false
		m.pass(many)
		full = true
		m.end()
	}
}

// TestRefusedStateIsWrittenOnce shows that a state that a server refuses is sent to it once in a sync, and that no copy
// is made that is not remembered.
func TestRefusedStateIsWrittenOnce(t *testing.T) {
	m, tries := newManyRelated(t), 0
	m.name(1)
	m.pass(0)
	m.fill(1, "b25l")
	in := m.input
	in.Service = tap(in.Service, func(w *write) error {
		if w.verb != "patch" || w.namespace != "states" {
			return w.send()
		}
		tries++
		return errBoom
	})
	for want := range 2 {
		if _, err := m.syncer.Sync(t.Context(), in); !errors.Is(err, errBoom) || tries != want+1 {
			t.Errorf("want %d tries, got %d, %v", want+1, tries, err)
		}
	}
	m.copies(0)
	m.pass(1)
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
			was := m.above.get(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: name})
			if was != nil {
				u.SetFinalizers(was.GetFinalizers())
			}
		})
	}
}

// end deletes the object.
func (m *manyRelated) end() {
	m.Helper()
	m.above.end(things.Workspace.GroupVersionResource, m.input.Object)
	m.pass(0)
}

// pass syncs the object once. Then so many copies are to be there.
func (m *manyRelated) pass(copies int) {
	m.Helper()
	if _, err := m.syncer.Sync(m.Context(), m.input); err != nil {
		m.Fatal(err)
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

// TestUndoneRelated shows that the copy of a related object that is missing, and that our finalizer had held, stays if
// the workspace was restored to an earlier time, as long as the object refers to it.
func TestUndoneRelated(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		undone, unnamed bool
		want            int
	}{
		"Undone":  {reason: "Nobody has deleted it.", undone: true, unnamed: false, want: 1},
		"Unnamed": {reason: "The consumer does not want it any more.", undone: true, unnamed: true, want: 0},
		"Gone":    {reason: "Somebody has taken our finalizer off it.", undone: false, unnamed: false, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t)
			m.name(1)
			m.fill(1, "b25l")
			m.pass(1)
			m.above.drop(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: "s0"})
			if tc.unnamed {
				m.name(0)
			}
			m.input.Undone = tc.undone
			m.pass(tc.want)
		})
	}
}

// TestShownMeanwhile shows that the copy of a related object stays that a workspace shows again while its object is
// synced: it was not there at first, and nobody has given it up.
func TestShownMeanwhile(t *testing.T) {
	m, looks := newManyRelated(t), 0
	m.name(1)
	m.fill(1, "b25l")
	m.pass(1)
	in := m.input
	in.Workspace.Side = through(in.Workspace.Side, objectsync.Secrets,
		func(_ types.NamespacedName, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if looks++; looks == 1 {
				return nil, nil //nolint:nilnil // So is none told.
			}
			return u, nil
		})
	if _, err := m.syncer.Sync(t.Context(), in); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, as it is shown by now, got %v", err)
	}
	m.copies(1)
	m.pass(1)
}
