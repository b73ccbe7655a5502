package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A record is all that the Objects of a namespace have ever shown.
type record struct {
	mu      sync.Mutex
	objects map[string]build.Object // what is there now, by name
	ready   map[string]time.Time    // when an Object was Ready first
	synced  map[string]change       // of the condition Synced, the last
	leaks   []string
}

// A change is when something changed, and what it was before.
type change struct {
	when time.Time
	was  string
}

// watch records the Objects of a namespace until the test ends.
func (w world) watch(t *testing.T, namespace string) *record {
	t.Helper()
	r := &record{objects: map[string]build.Object{}, ready: map[string]time.Time{}, synced: map[string]change{}}
	ctx, cancel := context.WithCancel(t.Context())
	var recording sync.WaitGroup
	recording.Go(func() {
		for ctx.Err() == nil {
			if err := r.follow(ctx, w.c, namespace); err != nil && ctx.Err() == nil {
				t.Logf("begin to watch anew: %v", err)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		recording.Wait()
	})
	return r
}

// follow records what is there and what changes, until the stream ends.
func (r *record) follow(ctx context.Context, c client.WithWatch, namespace string) error {
	list := &mobjectv1alpha1.ObjectList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return errors.Wrap(err, "cannot list Objects")
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].GetName()] = true
		r.note(watch.Added, &list.Items[i])
	}
	r.keep(there)
	stream, err := c.Watch(ctx, &mobjectv1alpha1.ObjectList{}, client.InNamespace(namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		return errors.Wrap(err, "cannot watch Objects")
	}
	defer stream.Stop()
	for e := range stream.ResultChan() {
		o, ok := e.Object.(*mobjectv1alpha1.Object)
		if !ok {
			return errors.Errorf("stream says %v", e.Object)
		}
		r.note(e.Type, o)
	}
	return nil
}

// keep forgets the Objects that are not there.
func (r *record) keep(there map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.objects {
		if !there[name] {
			delete(r.objects, name)
		}
	}
}

func (r *record) note(event watch.EventType, o build.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, now := o.GetName(), time.Now()
	if was := r.objects[name]; was == nil || synced(was) != synced(o) {
		r.synced[name] = change{when: now, was: describe(was)}
	}
	if _, ok := r.ready[name]; !ok && ready(o) {
		r.ready[name] = now
	}
	if b, err := json.Marshal(o); err == nil && strings.Contains(string(b), "canary") {
		r.leaks = append(r.leaks, fmt.Sprintf("Object %s: %s", name, around(string(b))))
	}
	r.objects[name] = o
	if event == watch.Deleted {
		delete(r.objects, name)
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

// readySince returns when an Object was Ready first, and whether it was.
func (r *record) readySince(name string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	when, ok := r.ready[name]
	return when, ok
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
func (w world) showsNothingForeign(t *testing.T, r *record, sink *hostile.Sink) {
	t.Helper()
	report := func(where string, leaks []string) {
		for _, leak := range leaks[:min(len(leaks), leaksShown)] {
			t.Errorf("%s shows what a hostile server says (%d times): %s", where, len(leaks), leak)
		}
	}
	report("a condition", r.leaked())
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
	report("the destination of a redirect", sink.Requests())
}

// metrics returns all that the provider measures.
func (w world) metrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.process.Metrics(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
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
