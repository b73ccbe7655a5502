package clusters

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

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
	_, err := c.Watches().Get(t.Context(), informer.Owner{Controller: "c"}, "test", informer.Interest{
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
