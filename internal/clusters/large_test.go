package clusters

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

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
	i := informer.Interest{Resource: configMaps, NamespacedName: types.NamespacedName{Namespace: "n", Name: "c"}}
	c.Watches().Track(owner, "test", i)
	var err error
	eventually(t, "a refusal", func() bool {
		_, err = c.Watches().Get(t.Context(), owner, i)
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
