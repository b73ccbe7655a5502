package target

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

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const mebibyte = 1 << 20

// TestLargeRest shows how long large bodies of a server rest.
func TestLargeRest(t *testing.T) {
	failed := errors.New("too large")
	now := time.Now()
	r := &largeRest{}
	refused := func(after time.Duration) bool { return r.refuse(now.Add(after)) != nil }
	type look struct{ Before, After bool }
	var got []look
	for _, seconds := range []int{4, 8, 16, 32, 60, 60} {
		pause := time.Duration(seconds) * time.Second
		r.begin(now, failed)
		got = append(got, look{refused(pause - 1), refused(pause)})
	}
	r.end()
	got = append(got, look{refused(0), refused(time.Hour)})
	r.begin(now, failed)
	got = append(got, look{refused(largeRestFirst - 1), refused(largeRestFirst)})
	want := []look{{
		Before: true,
	}, {
		Before: true,
	}, {
		Before: true,
	}, {
		Before: true,
	}, {
		Before: true,
	}, {
		Before: true,
	}, {}, {
		Before: true,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused a moment before and after the end of each rest, -want, +got:\n%s", diff)
	}
	if err := r.refuse(now); !errors.Is(err, failed) {
		t.Errorf("want the error of the last large body, got %v", err)
	}
}

// configMapOf returns JSON of a ConfigMap of about so many bytes.
func configMapOf(size int) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"n","name":"c"},"data":{"a":"` +
		strings.Repeat("a", size) + `"}}`
}

// TestLargeBodiesRest shows that a server whose large body was too large is not read that far again at once, while its
// small bodies are, and that a large one is read to its end later.
func TestLargeBodiesRest(t *testing.T) {
	var size, sent atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := configMapOf(int(size.Load()))
		for part := range strings.SplitSeq(body, "\n") {
			n, _ := io.WriteString(w, part)
			sent.Add(int64(n))
		}
	})
	get := requests()["Get"]
	size.Store(2 * maxTenantObject)
	first, again := get(t.Context(), c), get(t.Context(), c)
	if first == nil || again == nil || !strings.Contains(first.Error(), "more than 4 MiB") ||
		first.Error() != again.Error() {
		t.Errorf("want the same error twice, got %v and %v", first, again)
	}
	size.Store(largeBody / 2)
	if err := get(t.Context(), c); err != nil {
		t.Errorf("a small body is read: got %v", err)
	}
	size.Store(2 * mebibyte)
	if err := get(t.Context(), c); err == nil || err.Error() != first.Error() {
		t.Errorf("a large body is not read yet: got %v", err)
	}
	var err error
	for end := time.Now().Add(largeRestFirst + deadline); time.Now().Before(end); {
		if err = get(t.Context(), c); err == nil {
			return
		}
	}
	t.Errorf("a large body is read after the rest: got %v", err)
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
	var err error
	for end := time.Now().Add(deadline); err == nil && time.Now().Before(end); {
		err = short() // Until the events have been read so far.
	}
	if err == nil {
		t.Error("a large body is read beside as many large events as may be read at a time")
	}
	for _, w := range watches {
		w.Stop()
	}
	for end := time.Now().Add(largeRestFirst + deadline); err != nil && time.Now().Before(end); {
		err = short()
	}
	if err != nil {
		t.Errorf("a large body is read after the watches: got %v", err)
	}
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
	c.Watches().Track(owner, "test", i)
	var err error
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if _, err = c.Watches().Get(t.Context(), owner, i); informer.IsDenied(err) {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "server lists more than 32 MiB") || len(asked) == 0 {
		t.Fatalf("want the limit of lists, got %v after %d requests", err, len(asked))
	}
	first := <-asked
	if first.Get("limit") != strconv.Itoa(tenantPage) || first.Get("resourceVersion") != "" {
		t.Errorf("want a page of %d resources in the newest state, got %v", tenantPage, first)
	}
}
