package informer

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var server = kube.Server{Shared: "remote"}

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &server)) }

// A fickle server cuts watches and refuses requests at random, until it is calm.
type fickle struct {
	calm atomic.Bool
	mu   sync.Mutex
	rand *rand.Rand
}

func (f *fickle) n(most int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rand.IntN(most)
}

func (f *fickle) before(server http.Handler) http.Handler {
	codes := []int{
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusGone, http.StatusServiceUnavailable,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case f.calm.Load():
		case f.n(5) == 0:
			w.WriteHeader(codes[f.n(len(codes))])
			return
		case r.URL.Query().Get("watch") != "":
			ctx, cancel := context.WithTimeout(r.Context(), time.Duration(f.n(3000))*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		server.ServeHTTP(w, r)
	})
}

// A believer keeps what owners know, by their last look. They look when they are woken and never else.
type believer struct {
	set       *Set
	client    dynamic.ResourceInterface // writes
	namespace string
	queue     workqueue.TypedInterface[Owner]

	mu       sync.Mutex
	believes map[Owner]string
	writes   map[Owner]int // writes that an owner is to do in its next pass
}

func (b *believer) watchRequest(o Owner) WatchRequest {
	i := WatchRequest{
		Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		NamespacedName: types.NamespacedName{Namespace: b.namespace, Name: o.Name},
	}
	switch o.Controller {
	case "namespace":
		i.Stream = StreamLabelledInNamespace
	case "name":
		i.Stream = StreamByName
	case "names":
		i.Stream, i.Selector = StreamNames, "managed=true"
	case "selected":
		i.Stream, i.Selector = StreamBySelector, "managed=true"
	}
	return i
}

// pass writes what an owner is to write, and looks.
func (b *believer) pass(ctx context.Context, o Owner) error {
	b.mu.Lock()
	writes := b.writes[o]
	b.writes[o] = 0
	b.mu.Unlock()
	i := b.watchRequest(o)
	for n := range writes {
		answer, err := b.client.Apply(ctx, o.Name, configMapOf(o.Name, "true", fmt.Sprint(time.Now(), n)),
			metav1.ApplyOptions{FieldManager: "test", Force: true})
		if err == nil {
			b.set.Put(o, i.Resource, answer)
		}
	}
	if i.Stream > StreamByName {
		shown, err := b.selected(ctx, o, i)
		if err == nil {
			b.believe(o, fmt.Sprint(shown))
		}
		return err
	}
	u, err := b.set.Get(ctx, o, "test", i)
	switch {
	case err != nil:
		return err
	case u == nil:
		b.believe(o, "")
	default:
		b.believe(o, u.GetResourceVersion())
	}
	return nil
}

// selected returns what a stream of a selection shows of it: names, or versions.
func (b *believer) selected(ctx context.Context, o Owner, i WatchRequest) (any, error) {
	if i.Stream == StreamNames {
		return b.set.Names(ctx, o, "test", i)
	}
	all, err := b.set.List(ctx, o, "test", i)
	var versions []string
	for _, u := range all {
		versions = append(versions, u.GetResourceVersion())
	}
	return versions, err
}

func (b *believer) believe(o Owner, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.believes[o] = what
}

func configMapOf(name, managed, value string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": value},
	}}
	u.SetName(name)
	u.SetLabels(map[string]string{"managed": managed})
	return u
}

// TestNoWakeUpIsMissed makes random changes, some of them by owners, on a server that cuts watches and refuses requests
// at random. Owners that look only when they are woken know in the end what the server holds.
func TestNoWakeUpIsMissed(t *testing.T) {
	const seed, resources, changes, workers = 1, 20, 3000, 8
	ns := server.Namespace(t)
	f := &fickle{rand: rand.New(rand.NewPCG(seed, 0))}
	clients := func(cfg *rest.Config) (dynamic.Interface, metadata.Interface) {
		cfg.QPS = -1
		d, err := dynamic.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m, err := metadata.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return d, m
	}
	live, _ := clients(rest.CopyConfig(server.Config()))
	d, m := clients(kube.Front(t, server.Config(), f.before))
	b := &believer{
		namespace: ns, queue: workqueue.NewTyped[Owner](), believes: map[Owner]string{}, writes: map[Owner]int{},
	}
	b.client = live.Resource(b.watchRequest(Owner{}).Resource).Namespace(ns)
	b.set = NewSet(d, Options{Selector: "managed=true", Metadata: m, Wake: b.queue.Add})
	t.Cleanup(b.set.Close)
	owners := []Owner{{Controller: "names"}, {Controller: "selected"}}
	for n := range resources {
		for _, by := range []string{"labelled", "namespace", "name"} {
			owners = append(owners, Owner{Controller: by, NamespacedName: types.NamespacedName{Name: fmt.Sprint("c", n)}})
		}
	}
	for _, o := range owners {
		b.queue.Add(o)
	}
	var working sync.WaitGroup
	t.Cleanup(func() { b.queue.ShutDown(); working.Wait() })
	for range workers {
		working.Go(func() {
			for o, end := b.queue.Get(); !end; o, end = b.queue.Get() {
				if err := b.pass(context.WithoutCancel(t.Context()), o); err != nil && !IsNotSynced(err) && !IsDenied(err) {
					t.Errorf("%v: %v", o, err)
				}
				b.queue.Done(o)
			}
		})
	}
	var changing sync.WaitGroup
	for c := range workers {
		changing.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)+1))
			for range changes / workers {
				b.change(t, random, owners[2+random.IntN(len(owners)-2)])
			}
		})
	}
	changing.Wait()
	f.calm.Store(true)
	kube.Eventually(t, "all to know what the server holds", func() (bool, string) {
		diff := cmp.Diff(b.truth(t, owners), b.known())
		return diff == "", diff
	})
}

// change makes a random change of the resource of an owner, or has the owner make one.
func (b *believer) change(t *testing.T, random *rand.Rand, o Owner) {
	t.Helper()
	var err error
	switch random.IntN(5) {
	case 0:
		err = b.client.Delete(t.Context(), o.Name, metav1.DeleteOptions{})
	case 1, 2:
		managed := strconv.FormatBool(random.IntN(2) == 0)
		_, err = b.client.Apply(t.Context(), o.Name, configMapOf(o.Name, managed, strconv.Itoa(random.Int())),
			metav1.ApplyOptions{FieldManager: "other", Force: true})
	default:
		b.mu.Lock()
		b.writes[o]++
		b.mu.Unlock()
		b.queue.Add(o)
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		t.Error(err)
	}
}

// truth returns what owners should know.
func (b *believer) truth(t *testing.T, owners []Owner) map[Owner]string {
	t.Helper()
	list, err := b.client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, managed := map[string]string{}, map[string]string{}
	var names []types.NamespacedName
	var versions []string
	for i := range list.Items {
		u := &list.Items[i]
		all[u.GetName()] = u.GetResourceVersion()
		if u.GetLabels()["managed"] == "true" {
			managed[u.GetName()] = u.GetResourceVersion()
			names, versions = append(names, nameOf(u)), append(versions, u.GetResourceVersion())
		}
	}
	want := map[Owner]string{owners[0]: fmt.Sprint(names), owners[1]: fmt.Sprint(versions)}
	for _, o := range owners[2:] {
		want[o] = managed[o.Name]
		if o.Controller == "name" {
			want[o] = all[o.Name]
		}
	}
	return want
}

func (b *believer) known() map[Owner]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.believes)
}
