package scale_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// An oldServer stands before a server and refuses to stream lists, as old servers do. It keeps the requests it gets.
type oldServer struct {
	mu   sync.Mutex
	seen []*http.Request
}

func (o *oldServer) requests() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// newOldServer starts an oldServer before the server of a configuration, and returns it and a configuration that goes
// through it.
func newOldServer(t *testing.T, cfg *rest.Config) (*oldServer, *rest.Config) {
	t.Helper()
	o := &oldServer{}
	return o, kube.Front(t, cfg, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.mu.Lock()
			o.seen = append(o.seen, r.Clone(t.Context()))
			o.mu.Unlock()
			if r.URL.Query().Get("sendInitialEvents") != "" {
				http.Error(w, "sendInitialEvents is forbidden", http.StatusUnprocessableEntity)
				return
			}
			server.ServeHTTP(w, r)
		})
	})
}

// TestPages shows that a server which does not stream lists is asked for metadata only, in pages, and for a state that
// is no older than the request; and that the names of all pages are there.
func TestPages(t *testing.T) {
	const resources, pages = 1200, 3
	tns := target.Namespace(t)
	populate(t, tns, "a", resources)
	old, cfg := newOldServer(t, target.User(t, user, admins))
	m, err := metadata.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan informer.Owner, 1)
	set := informer.NewSet(d, informer.Options{Metadata: m, Wake: func(o informer.Owner) { woken <- o }})
	defer set.Close()
	owner := informer.Owner{Controller: "c", NamespacedName: types.NamespacedName{Name: "it"}}
	i := informer.Interest{
		NamespacedName: types.NamespacedName{Namespace: tns}, Stream: informer.StreamNames, Selector: "team=a",
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	}
	var names []types.NamespacedName
	kube.Eventually(t, "the names", func() (bool, string) {
		names, err = set.Names(t.Context(), owner, "test", i)
		return err == nil, "error"
	})
	if len(names) != resources || names[0].Name != "cm-00000" || names[resources-1].Name != "cm-01199" {
		t.Errorf("want %d names in order, got %d", resources, len(names))
	}

	var lists []url.Values
	for _, r := range old.requests() {
		if q := r.URL.Query(); q.Get("watch") == "" {
			lists = append(lists, q)
		}
		if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			t.Errorf("want metadata only, got a request that accepts %q", r.Header.Get("Accept"))
		}
	}
	if len(lists) != pages {
		t.Fatalf("want %d pages, got %v", pages, lists)
	}
	for i, q := range lists {
		if q.Get("limit") != "500" || q.Get("resourceVersion") != "" || (q.Get("continue") != "") != (i > 0) {
			t.Errorf("page %d: want one of 500 of a consistent list, got %v", i, q)
		}
	}

	// What comes later wakes.
	for len(woken) > 0 {
		<-woken
	}
	kube.Create(t, target.Client(t), configMap(tns, "late", "a"))
	kube.Eventually(t, "who is interested in the selection to be woken", func() (bool, string) {
		select {
		case o := <-woken:
			return o == owner, fmt.Sprint(o)
		default:
			return false, "nobody is"
		}
	})
}
