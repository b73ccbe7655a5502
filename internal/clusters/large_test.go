package clusters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const mebibyte = 1 << 20

// configMapOf returns JSON of a ConfigMap of about so many bytes.
func configMapOf(size int) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"n","name":"c"},"data":{"a":"` +
		strings.Repeat("a", size) + `"}}`
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
	i := informer.Interest{Resource: configMaps, NamespacedName: types.NamespacedName{Namespace: "n", Name: "c"}}
	var err error
	eventually(t, "a refusal", func() bool {
		_, err = c.Watches().Get(t.Context(), owner, "test", i)
		return informer.IsDenied(err)
	})
	if err == nil || !strings.Contains(err.Error(), "server lists more than 32 MiB") || len(asked) == 0 {
		t.Fatalf("want the limit of lists, got %v after %d requests", err, len(asked))
	}
	first := <-asked
	if first.Get("limit") != strconv.Itoa(tenantPage) || first.Get("resourceVersion") != "" {
		t.Errorf("want a page of %d resources in the newest state, got %v", tenantPage, first)
	}
}
