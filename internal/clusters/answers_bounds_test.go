package clusters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestBombInWatch shows that one event of a watch is bounded, even with line breaks in it, and that their number is
// not.
func TestBombInWatch(t *testing.T) {
	const event = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},` +
		`"data":{"a":"%s"}}}` + "\n"
	many := 3 * maxObject >> 20
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range many {
			_, _ = fmt.Fprintf(w, event, strings.Repeat("a", 1<<20))
		}
		_, _ = io.WriteString(w, `{"type":"ADDED","object":`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" \n", 1<<19)); err != nil {
				return
			}
		}
	})
	w, err := c.Resource(configMaps, "n").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	got := 0
	timeout := time.After(deadline)
	for {
		select {
		case e, ok := <-w.ResultChan():
			if ok && e.Object.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" {
				got++
				continue
			}
			if got != many {
				t.Errorf("events of usual size arrive: want %d, got %d", many, got)
			}
			return
		case <-timeout:
			t.Fatal("gave up waiting for the watch to end")
		}
	}
}

const mebibyte = 1 << 20

// configMapOf returns JSON of a ConfigMap of about so many bytes.
func configMapOf(size int) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"n","name":"c"},"data":{"a":"` +
		strings.Repeat("a", size) + `"}}`
}

// TestPages shows that the list of a tenant's server comes in pages, and that one without an end is not read for ever.
func TestPages(t *testing.T) {
	const perPage = 20 // of 100 KiB each
	asked := make(chan url.Values, 1000)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		select {
		case asked <- r.URL.Query():
		default:
		}
		item := configMapOf(100 << 10)
		_, _ = fmt.Fprintf(w,
			`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"more"},"items":[%s]}`,
			strings.TrimSuffix(strings.Repeat(item+",", perPage), ","))
	})
	owner := informer.Owner{Controller: "c"}
	i := informer.WatchRequest{Resource: configMaps, NamespacedName: types.NamespacedName{Namespace: "n", Name: "c"}}
	var err error
	eventually(t, "a refusal", func() bool {
		_, err = c.Watches().Get(t.Context(), owner, "test", i)
		return informer.IsDenied(err)
	})
	if err == nil || !strings.Contains(err.Error(), "list of the server is larger than 32 MiB") || len(asked) == 0 {
		t.Fatalf("want the limit of lists, got %v after %d requests", err, len(asked))
	}
	first := <-asked
	if first.Get("limit") != strconv.Itoa(tenantPage) || first.Get("resourceVersion") != "" {
		t.Errorf("want a page of %d resources in the newest state, got %v", tenantPage, first)
	}
}

// A flood is a server of a tenant that shows one resource after another, without an end, as a list that comes as a
// stream.
type flood struct {
	most  atomic.Int64 // how many bytes one stream has been read at most
	ended atomic.Int64 // how many streams were left
	lists atomic.Int64
}

func (f *flood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("watch") == "":
		f.lists.Add(1)
		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	case q.Get("sendInitialEvents") == "true":
		f.most.Store(max(f.most.Load(), f.pour(w)))
		f.ended.Add(1)
	default:
		<-r.Context().Done()
	}
}

// pour shows resources until the client leaves, and returns how many bytes it was sent.
func (*flood) pour(w http.ResponseWriter) int64 {
	filling, sent := strings.Repeat("a", 100<<10), int64(0)
	for i := 2; ; i++ {
		metadata := fmt.Sprintf(`{"namespace":"n","name":"c%d","resourceVersion":"%d"}`, i, i)
		n, err := fmt.Fprintf(w,
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":%s,"data":{"a":%q}}}`+"\n",
			metadata, filling)
		if sent += int64(n); err != nil {
			return sent
		}
	}
}

// TestFlood shows that no more than so many bytes of a list that comes as a stream are read of a tenant's server: the
// stream is left, and listed again.
func TestFlood(t *testing.T) {
	const most = maxTenantList + 16*mebibyte // with what is on its way
	f := &flood{}
	c := serve(t, f.ServeHTTP)
	_, err := c.Watches().Get(t.Context(), informer.Owner{Controller: "c"}, "test", informer.WatchRequest{
		Resource: configMaps, NamespacedName: types.NamespacedName{Namespace: "n", Name: "c"},
	})
	if !informer.IsNotSynced(err) {
		t.Errorf("want no list, got %v", err)
	}
	eventually(t, "the stream to be left and listed again",
		func() bool { return f.ended.Load() > 0 && f.lists.Load() > 0 })
	if got := f.most.Load(); got < mebibyte || got > most {
		t.Errorf("a stream was read for %d MiB, want at most %d", got>>20, most>>20)
	}
}

// TestLargeEventsWait shows that large events of watches count among the large bodies that are read at a time.
func TestLargeEventsWait(t *testing.T) {
	large := make(chan struct{}, largeBodies)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, configMapOf(mebibyte))
			return
		}
		_, _ = io.WriteString(w, `{"type":"ADDED","object":`+configMapOf(mebibyte)[:mebibyte])
		_ = http.NewResponseController(w).Flush()
		large <- struct{}{}
		<-r.Context().Done()
	})
	var watches []interface{ Stop() }
	for range largeBodies {
		w, err := c.Resource(configMaps, "n").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
	}
	for range largeBodies {
		<-large
	}
	get := requests()["Get"]
	short := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return get(ctx, c)
	}
	eventually(t, "no large body to be read beside as many large events as may be", func() bool { return short() != nil })
	for _, w := range watches {
		w.Stop()
	}
	eventually(t, "a large body to be read after the watches", func() bool { return short() == nil })
}
