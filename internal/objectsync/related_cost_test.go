package objectsync_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestManyRelatedAreCheap shows that one object which names as many related objects as it may costs no more than ten
// that name as many together, in each phase of their lives: the cost is linear. An object may not name one more.
func TestManyRelatedAreCheap(t *testing.T) {
	const most = objectsync.RelatedMax
	for _, origin := range []v1alpha1.Origin{v1alpha1.OriginKCP, v1alpha1.OriginService} {
		ten, one := leastCosts(t, origin, 10), leastCosts(t, origin, 1)
		for _, phase := range sortedKeys(one) {
			t.Logf("origin %s, %s: ten objects %s, one object %s", origin, phase, ten[phase], one[phase])
			if one[phase] > 3*ten[phase] {
				t.Errorf("origin %s, %s: %d names of one object cost %s, of ten objects %s", origin, phase, most,
					one[phase], ten[phase])
			}
			if one[phase] > 200*time.Millisecond {
				t.Errorf("origin %s, %s: %d names cost %s", origin, phase, most, one[phase])
			}
		}
	}
	m := newManyRelated(t, v1alpha1.OriginKCP)
	m.name(most + 1)
	if _, err := m.syncer.Sync(t.Context(), m.input); !errors.Is(err, objectsync.ErrTooMany) {
		t.Errorf("want ErrTooMany, got %v", err)
	}
}

// leastCosts returns how long each phase takes at best that some objects go through which name as many Secrets together
// as one may. The best of several is the least disturbed by other programs.
func leastCosts(t *testing.T, origin v1alpha1.Origin, objects int) map[string]time.Duration {
	t.Helper()
	least := map[string]time.Duration{}
	for range 7 {
		sum := map[string]time.Duration{}
		for range objects {
			for phase, cost := range newManyRelated(t, origin).costs(objectsync.RelatedMax / objects) {
				sum[phase] += cost
			}
		}
		for phase, cost := range sum {
			if was, known := least[phase]; !known || cost < was {
				least[phase] = cost
			}
		}
	}
	return least
}

// A manyRelated is an object that names many Secrets. Both sides are in memory, so that nothing but the sync costs
// anything.
type manyRelated struct {
	*testing.T

	syncer       *objectsync.Syncer
	input        objectsync.Input
	above, below *memory
	origin       *memory // of the Secrets
	namespace    string  // of the Secrets
}

func newManyRelated(t *testing.T, origin v1alpha1.Origin) *manyRelated {
	t.Helper()
	spec := related(origin, byReference("spec.list.#.secret"))
	spec.Related[0].Cleanup = true
	spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{Objects: []v1alpha1.NamePattern{"*"}}
	return inMemory(t, spec)
}

// inMemory returns an object without a server, which names Secrets by one rule.
func inMemory(t *testing.T, spec *v1alpha1.PublishedResourceSpec) *manyRelated {
	t.Helper()
	pairs := map[string]objectsync.Pair{}
	for i := range spec.Related {
		pairs[spec.Related[i].Name()] = secrets
	}
	s, err := objectsync.New(objectsync.Config{
		Spec: spec, Agent: "agent", StateNamespace: "states", Primary: things, Related: pairs,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &manyRelated{T: t, syncer: s, above: newMemory(), below: newMemory()}
	m.input = objectsync.Input{
		Workspace: objectsync.Workspace{Side: m.above.side(), Cluster: "c1", Path: "root:org"}, Service: m.below.side(),
		Holders: nobody{},
		Object:  types.NamespacedName{Namespace: "default", Name: "web"},
	}
	m.origin, m.namespace = m.above, "default"
	if spec.Related[0].Origin == v1alpha1.OriginService {
		m.origin, m.namespace = m.below, "c1"
	}
	m.above.put(things.Workspace.GroupVersionResource, thing(m.input.Object))
	return m
}

// name has the object name a number of Secrets.
func (m *manyRelated) name(n int) {
	list := make([]any, 0, n)
	for i := range n {
		list = append(list, map[string]any{"secret": fmt.Sprintf("s%d", i)})
	}
	source := m.above.get(things.Workspace.GroupVersionResource, m.input.Object).DeepCopy()
	source.Object["spec"] = map[string]any{"list": list}
	m.above.put(things.Workspace.GroupVersionResource, source)
}

// fill gives a number of Secrets a value.
func (m *manyRelated) fill(n int, value string) {
	for i := range n {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": value},
		}}
		u.SetNamespace(m.namespace)
		u.SetName(fmt.Sprintf("s%d", i))
		u.SetUID(types.UID(fmt.Sprint("uid of ", i)))
		if was := m.origin.get(objectsync.Secrets,
			types.NamespacedName{Namespace: m.namespace, Name: u.GetName()}); was != nil {
			u.SetFinalizers(was.GetFinalizers())
		}
		m.origin.put(objectsync.Secrets, u)
	}
}

// costs returns how long each phase takes.
func (m *manyRelated) costs(n int) map[string]time.Duration {
	m.Helper()
	all := map[string]time.Duration{}
	m.name(n)
	m.fill(n, "b25l")
	all["first"] = m.pass(n)
	all["rest"] = m.pass(n)
	m.fill(n, "dHdv")
	all["changed"] = m.pass(n)
	m.name(0)
	all["dropped"] = m.pass(0)
	m.name(n)
	all["again"] = m.pass(n)
	source := m.above.get(things.Workspace.GroupVersionResource, m.input.Object).DeepCopy()
	source.SetDeletionTimestamp(new(now()))
	m.above.put(things.Workspace.GroupVersionResource, source)
	all["deleted"] = m.pass(0)
	return all
}

// pass syncs the object once, and returns how long that took. Then so many copies are to be there.
func (m *manyRelated) pass(copies int) time.Duration {
	m.Helper()
	runtime.GC()
	begin := time.Now()
	_, err := m.syncer.Sync(m.Context(), m.input)
	took := time.Since(begin)
	if err != nil {
		m.Fatal(err)
	}
	side := map[*memory]*memory{m.above: m.below, m.below: m.above}[m.origin]
	if got := len(side.all[objectsync.Secrets]) - side.states; got != copies {
		m.Fatalf("want %d copies, got %d", copies, got)
	}
	return took
}
