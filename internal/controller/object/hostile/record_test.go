package hostile_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A record is all that the Objects of a namespace have ever shown.
type record struct {
	mu      sync.Mutex
	objects map[string]build.Object // what is there now, by name
	synced  map[string]change       // of the condition Synced, the last
	leaks   []string
}

// A change is when something changed, and what it was before.
type change struct {
	when time.Time
	was  string
}

// watch records the Objects of the namespace until the test ends.
func (w world) watch(t *testing.T) *record {
	t.Helper()
	r := &record{objects: map[string]build.Object{}, synced: map[string]change{}}
	all, err := cache.New(local.Config(), cache.Options{
		Scheme: w.c.Scheme(), DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var recording sync.WaitGroup
	recording.Go(func() { _ = all.Start(t.Context()) })
	t.Cleanup(recording.Wait)
	stream, err := all.GetInformer(t.Context(), &mobjectv1alpha1.Object{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    r.note,
		UpdateFunc: func(_, o any) { r.note(o) },
		DeleteFunc: r.forget,
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *record) note(x any) {
	o, ok := x.(build.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := o.GetName()
	if was := r.objects[name]; was == nil || synced(was) != synced(o) {
		r.synced[name] = change{when: time.Now(), was: describe(was)}
	}
	if b, err := json.Marshal(o); err == nil && strings.Contains(string(b), "canary") {
		r.leaks = append(r.leaks, fmt.Sprintf("Object %s: %s", name, around(string(b))))
	}
	r.objects[name] = o
}

func (r *record) forget(x any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key, err := toolscache.DeletionHandlingObjectToName(x); err == nil {
		delete(r.objects, key.Name)
	}
}

// synced returns what a user sees of the condition Synced.
func synced(o build.Object) string {
	s := o.GetCondition(xpv2.TypeSynced)
	return fmt.Sprintf("%s %s %s", s.Status, s.Reason, s.Message)
}

// get returns an Object as it was last, nil if it is gone.
func (r *record) get(name string) build.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[name]
}

// unstable returns the Objects whose condition Synced has changed since a time.
func (r *record) unstable(since time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, o := range r.objects {
		if c := r.synced[name]; c.when.After(since) {
			names = append(names, fmt.Sprintf("%s: %s, before: %s", name, describe(o), c.was))
		}
	}
	return names
}

// leaked returns where a canary was seen.
func (r *record) leaked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaks
}

// around returns the first canary in a text and what is around it.
func around(text string) string {
	const before, after = 200, 100
	i := strings.Index(text, "canary")
	return text[max(0, i-before):min(len(text), i+after)]
}

// leaksShown is how many leaks of a kind a failure shows.
const leaksShown = 10

// showsNothingForeign checks that nothing a hostile server has invented is where anybody but that server could read it,
// and that nothing has followed a redirect.
func (w world) showsNothingForeign(t *testing.T) {
	t.Helper()
	report := func(where string, leaks []string) {
		for _, leak := range leaks[:min(len(leaks), leaksShown)] {
			t.Errorf("%s shows what a hostile server says (%d times): %s", where, len(leaks), leak)
		}
	}
	report("a condition", w.record.leaked())
	var events corev1.EventList
	var configs mpcv1alpha1.ProviderConfigList
	kube.List(t, w.c, &events)
	kube.List(t, w.c, &configs)
	var told, shown []string
	for _, e := range events.Items {
		told = append(told, canaries(e.Message)...)
	}
	for _, pc := range configs.Items {
		b, err := json.Marshal(pc.Status)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, canaries(string(b))...)
	}
	report("an event", told)
	report("a ProviderConfig", shown)
	report("the log", canaries(w.process.Log()))
	report("a metric", canaries(w.metrics(t)))
	report("the destination of a redirect", w.sink.Requests())
}

// metrics returns all that the provider measures.
func (w world) metrics(t *testing.T) string {
	t.Helper()
	res, err := http.Get(w.process.Metrics())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// canaries returns the lines of a text that hold a canary.
func canaries(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "canary") {
			found = append(found, around(line))
		}
	}
	return found
}
