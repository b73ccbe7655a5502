package target

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestOwnersGo shows that what a tenant's server makes us hold goes with the owners whose share it is: the pool that
// all servers use would have no room for it.
func TestOwnersGo(t *testing.T) {
	const owners, pages, perPage, size = 100, 3, 20, 100 << 10 // 6 MiB
	route := newRoutes(Addresses{}, nil)[identity.WriterTenant]
	route.pool = informer.NewPool(mebibyte)
	c := serveBy(t, route, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("watch") != "" && q.Get("sendInitialEvents") != "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if q.Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		page, _ := strconv.Atoi(q.Get("continue"))
		more := ""
		if page < pages-1 {
			more = strconv.Itoa(page + 1)
		}
		var items []string
		for i := range perPage {
			items = append(items, fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"n","name":"c%d"},"data":{"a":%q}}`,
				page*perPage+i, strings.Repeat("a", size)))
		}
		_, _ = io.WriteString(w, fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`,
			more, strings.Join(items, ",")))
	})
	owner := func(i int) informer.Owner {
		return informer.Owner{Controller: "c", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}
	}
	of := func(i int) informer.Interest {
		return informer.Interest{
			Resource: configMaps, NamespacedName: types.NamespacedName{Namespace: "n", Name: fmt.Sprintf("c%d", i)},
		}
	}
	for i := range owners {
		c.Watches().Track(owner(i), "test", of(i))
	}
	await := func(what string, is func(error) bool) {
		t.Helper()
		var err error
		for end := time.Now().Add(deadline); time.Now().Before(end); {
			if _, err = c.Watches().Get(t.Context(), owner(0), of(0)); is(err) {
				return
			}
		}
		t.Fatalf("gave up waiting for %s: %v", what, err)
	}
	await("the resources of 100 owners", func(err error) bool { return err == nil })
	for i := 1; i < owners; i++ {
		c.Watches().Forget(owner(i))
	}
	await("the stream to be left", informer.IsDenied)
}
