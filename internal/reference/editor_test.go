package reference

import (
	"context"
	"encoding/json"
	"math/rand/v2"
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

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
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
			e := newEditor(nil, nil)
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
	if got := newEditor(nil, nil).newest(resource{}, nil); got != nil {
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

// begin begins a request for a resource, which must be the only one. It returns what to answer if the request fails,
// and whether only the answer is lost.
func (s *server) begin(name string) (end func(), lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[name] {
		s.clashes++
	}
	s.busy[name] = true
	switch s.random.IntN(8) {
	case 0:
		err = apierrors.NewInternalError(errors.New("boom"))
	case 1:
		err = errors.Wrap(context.DeadlineExceeded, "no answer")
	}
	lost = s.random.IntN(2) == 0
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[name] = false
	}, lost, err
}

// Get returns a resource.
func (s *server) Get(_ context.Context, name string, _ metav1.GetOptions,
	_ ...string,
) (*unstructured.Unstructured, error) {
	end, _, err := s.begin(name)
	defer end()
	if err != nil {
		return nil, err
	}
	return s.read(name)
}

func (s *server) read(name string) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.all[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	return u.DeepCopy(), nil
}

// Patch changes the finalizers of a resource. Sometimes the answer is lost.
func (s *server) Patch(_ context.Context, name string, _ types.PatchType, body []byte, _ metav1.PatchOptions,
	_ ...string,
) (*unstructured.Unstructured, error) {
	end, lost, failed := s.begin(name)
	defer end()
	if failed != nil && !lost {
		return nil, failed
	}
	var uid types.UID
	var tested, next []string
	var ops []struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(body, &ops); err != nil {
		return nil, err
	}
	for i, into := range []any{&uid, &tested, &next} {
		if err := json.Unmarshal(ops[i].Value, into); err != nil {
			return nil, err
		}
	}
	u, err := s.change(name, func(u *unstructured.Unstructured) ([]string, bool) {
		return next, u.GetUID() == uid && slices.Equal(tested, u.GetFinalizers())
	})
	if failed != nil {
		return nil, failed
	}
	return u, err
}

// change gives a resource other finalizers, if it fits.
func (s *server) change(name string,
	to func(*unstructured.Unstructured) ([]string, bool),
) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.all[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	finalizers, fits := to(u)
	if !fits {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, name, nil)
	}
	s.version++
	u.SetFinalizers(finalizers)
	u.SetResourceVersion(strconv.Itoa(s.version))
	return u.DeepCopy(), nil
}

// TestEditor has owners change their minds at random about finalizers on a few resources, through a server that fails
// and loses answers, while somebody else changes finalizers, too. It shows that each resource ends as all have wanted
// it last, that nobody is left waiting, that foreign finalizers stay, and that there is one request at a time for each.
func TestEditor(t *testing.T) {
	const resources, owners, steps = 4, 6, 400
	random := rand.New(rand.NewPCG(1, 2))
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
	e := newEditor(func(schema.GroupVersionResource, string) dynamic.ResourceInterface { return s },
		func(informer.Owner) {})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { e.run(ctx); close(done) }()
	wanted := map[resource]map[change]bool{}
	for range steps {
		at, c := randomChange(random, resources, owners)
		var known metav1.Object
		if random.IntN(2) == 0 {
			known, _ = s.read(at.name.Name)
		}
		if wanted[at] == nil {
			wanted[at] = map[change]bool{}
		}
		delete(wanted[at], change{owner: c.owner, finalizer: c.finalizer, add: !c.add})
		wanted[at][c] = true
		_ = e.set(at, c, known)
		if random.IntN(20) == 0 {
			foreign(s, at.name.Name)
		}
	}
	for at, all := range wanted {
		for c := range all {
			kube.Eventually(t, "a resource to be as it is wanted", func() (bool, string) {
				err := e.set(at, c, nil)
				return err == nil, "not yet"
			})
			u, err := s.read(at.name.Name)
			if err != nil || slices.Contains(u.GetFinalizers(), c.finalizer) != c.add {
				t.Errorf("%s of %s: want it to be there: %t, got %v, %v", c.finalizer, at.name, c.add, u.GetFinalizers(), err)
			}
			if n := len(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f != "theirs" })); n > 1 {
				t.Errorf("foreign finalizers: got %d", n)
			}
		}
	}
	stop()
	<-done
	if s.clashes > 0 || len(e.jobs) > 0 {
		t.Errorf("want one request at a time and nothing remembered, got %d at once; %v", s.clashes, e.jobs)
	}
}

func randomChange(random *rand.Rand, resources, owners int) (resource, change) {
	owner := strconv.Itoa(random.IntN(owners))
	name := strconv.Itoa(random.IntN(resources))
	return resource{name: types.NamespacedName{Name: name}, uid: types.UID(name)},
		change{owner: informer.Owner{Controller: owner}, finalizer: "of-" + owner, add: random.IntN(2) == 0}
}

// foreign adds the finalizer of somebody else.
func foreign(s *server, name string) {
	_, _ = s.change(name, func(u *unstructured.Unstructured) ([]string, bool) {
		return append(u.GetFinalizers(), "theirs"), !slices.Contains(u.GetFinalizers(), "theirs")
	})
}

// A slowServer answers a patch when it is told to, and has made it by then.
type slowServer struct {
	dynamic.ResourceInterface

	u       *unstructured.Unstructured
	patched chan struct{} // receives a value for each patch that has come
	answer  chan struct{} // each value lets one patch go on
}

func (s slowServer) Patch(_ context.Context, _ string, _ types.PatchType, body []byte, _ metav1.PatchOptions,
	_ ...string,
) (*unstructured.Unstructured, error) {
	var ops []struct {
		Value any `json:"value"`
	}
	if err := json.Unmarshal(body, &ops); err != nil {
		return nil, err
	}
	s.patched <- struct{}{}
	<-s.answer
	var finalizers []string
	for _, f := range ops[2].Value.([]any) {
		finalizers = append(finalizers, f.(string))
	}
	s.u.SetFinalizers(finalizers)
	return s.u.DeepCopy(), nil
}

// TestOppositeInFlight shows that a finalizer which a request is putting on is not taken for absent, however often
// somebody asks, and goes with an owner that is forgotten.
func TestOppositeInFlight(t *testing.T) {
	for name, end := range map[string]func(*editor, resource, change, metav1.Object) error{
		"Asked": func(e *editor, at resource, c change, known metav1.Object) error {
			_ = e.set(at, c, known)
			return e.set(at, c, known)
		},
		"Forgotten": func(e *editor, at resource, c change, known metav1.Object) error {
			e.forget(c.owner)
			return e.set(at, c, known)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := slowServer{
				u: &unstructured.Unstructured{Object: map[string]any{}}, patched: make(chan struct{}), answer: make(chan struct{}),
			}
			known := s.u.DeepCopy()
			e := newEditor(func(schema.GroupVersionResource, string) dynamic.ResourceInterface { return s },
				func(informer.Owner) {})
			go e.run(t.Context())
			at, owner := resource{name: types.NamespacedName{Name: "a"}}, informer.Owner{Controller: "x"}
			_ = e.set(at, change{owner: owner, finalizer: "ours", add: true}, known)
			<-s.patched
			off := change{owner: owner, finalizer: "ours"}
			if err := end(e, at, off, known); err == nil {
				t.Error("want the finalizer not to be taken for absent while a request puts it on")
			}
			s.answer <- struct{}{}
			<-s.patched
			s.answer <- struct{}{}
			kube.Eventually(t, "the finalizer to be off", func() (bool, string) {
				err := e.set(at, off, nil)
				return err == nil, "not yet"
			})
			if got := s.u.GetFinalizers(); len(got) > 0 {
				t.Errorf("want no finalizer, got %v", got)
			}
		})
	}
}
