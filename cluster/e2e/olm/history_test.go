package olm

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

var (
	subscriptions = schema.GroupVersionResource{
		Group: "operators.coreos.com", Version: "v1alpha1", Resource: "subscriptions",
	}
	csvs = schema.GroupVersionResource{
		Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions",
	}
)

// A history is what has happened on the target to the three resources of the chain. Their resource versions are those
// of one etcd, so that they tell what came first.
type history struct {
	mu     sync.Mutex
	events []happening
}

// A happening is one state of a resource.
type happening struct {
	version  int64
	resource schema.GroupVersionResource
	gone     bool
	object   *unstructured.Unstructured
}

// newHistory keeps a history of some resources of the target, each in a namespace or, if that is empty, in all, until
// the test ends.
func newHistory(t *testing.T, resources map[schema.GroupVersionResource]string) *history {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{}
	dyn := dynamic.NewForConfigOrDie(target.Config())
	var watching sync.WaitGroup
	for gvr, namespace := range resources {
		c := dyn.Resource(gvr).Namespace(namespace)
		watching.Go(func() {
			// Nobody serves Kongs until their operator is installed for the first time.
			for ; ctx.Err() == nil; time.Sleep(beat) {
				if w, err := c.Watch(ctx, metav1.ListOptions{}); err == nil {
					h.keep(gvr, w.ResultChan())
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); watching.Wait() })
	return h
}

func (h *history) keep(gvr schema.GroupVersionResource, events <-chan watch.Event) {
	for e := range events {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		version, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
		if err != nil {
			continue
		}
		h.mu.Lock()
		h.events = append(h.events, happening{
			version: version, resource: gvr, gone: e.Type == watch.Deleted, object: u,
		})
		h.mu.Unlock()
	}
}

// first returns when a resource first was as said, 0 if never.
func (h *history) first(gvr schema.GroupVersionResource, is func(happening) bool) int64 {
	first, _ := h.times(gvr, is)
	return first
}

// times returns when a resource first and last was as said, 0 if never.
func (h *history) times(gvr schema.GroupVersionResource, is func(happening) bool) (first, last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.resource == gvr && is(e) {
			first, last = min(cmp.Or(first, e.version), e.version), max(last, e.version)
		}
	}
	return first, last
}

func leaving(e happening) bool { return e.gone || e.object.GetDeletionTimestamp() != nil }

func gone(e happening) bool { return e.gone }
