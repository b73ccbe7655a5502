package reference

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestNewest shows which of an answer and what a cache holds is taken for the state of a resource.
func TestNewest(t *testing.T) {
	state := func(uid types.UID, version string, finalizers ...string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version, Finalizers: finalizers}
	}
	for name, tc := range map[string]struct {
		reason string
		answer *metav1.ObjectMeta
		age    time.Duration
		cached *metav1.ObjectMeta
		want   []string
		gone   bool
	}{
		"Behind": {
			reason: "A cache that lags behind is not believed.",
			answer: state("1", "7", "ours"), cached: state("1", "5"), want: []string{"ours"},
		},
		"CaughtUp": {
			reason: "One that has caught up is.", answer: state("1", "7", "ours"), cached: state("1", "7", "ours"),
			want: []string{"ours"},
		},
		"Ahead": {
			reason: "So is one that knows more.", answer: state("1", "7", "ours"), cached: state("1", "9", "other"),
			want: []string{"other"},
		},
		"Namesake": {
			reason: "A namesake tells that the resource is gone.", cached: state("2", "5", "other"), gone: true,
		},
		"Gone": {
			reason: "What the server does not have any more is gone, whatever a cache shows.",
			answer: gone(), cached: state("1", "5", "ours"), gone: true,
		},
		"Restored": {
			reason: "An old answer is from a history that may be gone.",
			answer: state("1", "7", "ours"), age: 2 * answerMost, cached: state("1", "5"),
		},
		"Uncached": {reason: "An answer is enough.", answer: state("1", "7", "ours"), want: []string{"ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Now())
			e := newEditor(nil)
			e.answers = cache.NewExpiringWithClock(clock)
			at := resource{uid: "1"}
			if tc.answer != nil {
				e.answers.Set(at, tc.answer, answerMost)
			}
			clock.Step(tc.age)
			var known metav1.Object
			if tc.cached != nil {
				known = tc.cached
			}
			got := e.newest(at, known)
			if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" || tc.gone != (got.GetDeletionTimestamp() != nil) {
				t.Errorf("%s\ngone: %t, -want, +got:\n%s", tc.reason, got.GetDeletionTimestamp() != nil, diff)
			}
		})
	}
	if got := newEditor(nil).newest(resource{}, nil); got != nil {
		t.Errorf("want nothing known of a resource that nobody has seen, got %v", got)
	}
}

// A server holds a few resources with finalizers, whose requests fail sometimes.
type server struct {
	dynamic.ResourceInterface

	mu      sync.Mutex
	random  *rand.Rand
	version int
	all     map[string]*unstructured.Unstructured
	busy    map[string]bool // a request for it is in flight
	clashes int
}

// Get returns a resource.
func (s *server) Get(_ context.Context, name string, _ metav1.GetOptions,
	_ ...string,
) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.all[name]; ok {
		return u.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

// Patch changes the finalizers of a resource. Sometimes it fails, or only the answer is lost.
func (s *server) Patch(_ context.Context, name string, _ types.PatchType, body []byte, _ metav1.PatchOptions,
	_ ...string,
) (*unstructured.Unstructured, error) {
	s.begin(name)
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[name] = false
	fails := s.random.IntN(4)
	if fails == 0 {
		return nil, apierrors.NewInternalError(errors.New("boom"))
	}
	var patch metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, err
	}
	u := s.all[name]
	if u.GetResourceVersion() != patch.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{}, name, nil)
	}
	s.change(u, patch.Finalizers)
	if fails == 1 {
		return nil, errors.Wrap(context.DeadlineExceeded, "no answer")
	}
	return u.DeepCopy(), nil
}

// begin begins a patch of a resource, which must be the only one.
func (s *server) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[name] {
		s.clashes++
	}
	s.busy[name] = true
}

func (s *server) change(u *unstructured.Unstructured, finalizers []string) {
	s.version++
	u.SetFinalizers(finalizers)
	u.SetResourceVersion(strconv.Itoa(s.version))
}

// foreign adds the finalizer of somebody else, if it is not there.
func (s *server) foreign(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.all[name]; !slices.Contains(u.GetFinalizers(), "theirs") {
		s.change(u, append(u.GetFinalizers(), "theirs"))
	}
}

// TestEditor has owners change their minds at random about finalizers on a few resources, through a server that fails
// and loses answers, while somebody else changes finalizers, too. It shows that each resource is as its owner has
// wanted it last, that foreign finalizers stay, and that there is one patch at a time for each.
func TestEditor(t *testing.T) {
	const resources, owners, steps = 4, 6, 100
	s := &server{
		random: rand.New(rand.NewPCG(3, 4)), all: map[string]*unstructured.Unstructured{}, busy: map[string]bool{},
	}
	for i := range resources {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(strconv.Itoa(i))
		u.SetUID(types.UID(strconv.Itoa(i)))
		u.SetResourceVersion("0")
		s.all[u.GetName()] = u
	}
	e := newEditor(func(schema.GroupVersionResource, string) dynamic.ResourceInterface { return s })
	var all sync.WaitGroup
	for owner := range owners {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(owner)))
			for range steps {
				name := strconv.Itoa(random.IntN(resources))
				at := resource{name: types.NamespacedName{Name: name}, uid: types.UID(name)}
				c := change{finalizer: "of-" + strconv.Itoa(owner), add: random.IntN(2) == 0}
				if random.IntN(20) == 0 {
					s.foreign(name)
				}
				var err error
				for again := true; again; again = err != nil {
					_, err = e.set(t.Context(), at, c, nil)
				}
				u, _ := s.Get(t.Context(), name, metav1.GetOptions{})
				if slices.Contains(u.GetFinalizers(), c.finalizer) != c.add {
					t.Errorf("%s of %s: want it to be there: %t, got %v", c.finalizer, name, c.add, u.GetFinalizers())
				}
			}
		})
	}
	all.Wait()
	for name, u := range s.all {
		if n := len(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f != "theirs" })); n != 1 {
			t.Errorf("foreign finalizers of %s: got %d", name, n)
		}
	}
	if s.clashes > 0 || len(e.open) > 0 {
		t.Errorf("want one request at a time and nothing remembered, got %d at once; %v", s.clashes, e.open)
	}
}
