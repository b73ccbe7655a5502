package publishedresource_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDefinitionsAreNotKept shows that a service cluster is asked for the names of all its CustomResourceDefinitions,
// and for the content of none but that of what is published: a cluster may have megabytes of them.
func TestDefinitionsAreNotKept(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	other := local.Namespace(t) + ".example.org"
	kube.Create(t, service.Client(t), definition(s.group, "hats"))
	kube.Create(t, service.Client(t), definition(other, "boats"))
	asked := &definitionsAsked{}
	elsewhere := s.serviceCluster(t, asked.of(t, service.User(t, user, "system:masters")))
	o := s.published("hats", "Hat")
	o.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	kube.Delete(t, s.c, o)
	awaitGone(t, s.c, o) // Nobody needs the server in front any more.

	names, contents := asked.all()
	if len(names) == 0 {
		t.Error("want the names of all definitions asked for, this test sees nothing")
	}
	for _, of := range contents {
		if !strings.Contains(of, "hats."+s.group) {
			t.Errorf("want the content asked for of hats alone, got %s", of)
		}
	}
}

// definitionsAsked are the requests for CustomResourceDefinitions that a server in front of another one has seen. Only
// there can it be told whether names or contents are asked for.
type definitionsAsked struct {
	mu              sync.Mutex
	names, contents []string // URIs
}

// of returns a server in front of another one.
func (d *definitionsAsked) of(t *testing.T, cfg *rest.Config) *rest.Config {
	t.Helper()
	return kube.Front(t, cfg, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.note(r)
			server.ServeHTTP(w, r)
		})
	})
}

func (d *definitionsAsked) note(r *http.Request) {
	if !strings.Contains(r.URL.Path, "/customresourcedefinitions") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
		d.names = append(d.names, r.URL.RequestURI())
		return
	}
	d.contents = append(d.contents, r.URL.RequestURI())
}

func (d *definitionsAsked) all() (names, contents []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names, d.contents
}
