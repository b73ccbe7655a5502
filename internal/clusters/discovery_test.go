package clusters

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestSearchIsOneRequest shows that the search for kinds which a server does not serve costs one request each time,
// however many groups a tenant names, and finds a kind as soon as the server lists its group.
func TestSearchIsOneRequest(t *testing.T) {
	const groups, looks = 100, 3
	var lists, others atomic.Int64
	var served atomic.Bool
	late := schema.GroupVersionKind{Group: "g7.example.org", Version: "v1", Kind: "Late"}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		switch {
		case r.URL.Path == "/apis" && served.Load():
			lists.Add(1)
			answer.(*metav1.APIGroupList).Groups = []metav1.APIGroup{{
				Name:     late.Group,
				Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: late.GroupVersion().String(), Version: late.Version}},
			}}
		case r.URL.Path == "/apis":
			lists.Add(1)
		case strings.HasSuffix(r.URL.Path, late.GroupVersion().String()) && served.Load():
			answer = &metav1.APIResourceList{
				TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
				GroupVersion: late.GroupVersion().String(),
				APIResources: []metav1.APIResource{{Name: "lates", Kind: late.Kind, Verbs: metav1.Verbs{"get"}}},
			}
		default:
			others.Add(1)
			w.WriteHeader(http.StatusNotFound)
			answer = apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0,
				false).ErrStatus
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	o := informer.Owner{NamespacedName: types.NamespacedName{Namespace: "team", Name: "curious"}}
	var all []schema.GroupVersionKind
	for i := range groups {
		all = append(all, schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.org", i), Version: "v1", Kind: "Late"})
	}
	if found, err := c.Mappings(t.Context(), o, "references", all...); err != nil || len(found) > 0 {
		t.Fatalf("want no kind, got %v, %v", found, err)
	}
	begun, asked := lists.Load(), others.Load()
	eventually(t, "the search to look again and again", func() bool { return lists.Load() >= begun+looks })
	if got := others.Load() - asked; got > 0 {
		t.Errorf("requests of %d looks beside the list of groups: want none, got %d", looks, got)
	}
	served.Store(true)
	eventually(t, "the kind to be found", func() bool { _, ok := c.mapping(late); return ok })
}

// TestDiscoveryKeepsWhatIsUsed shows that of all that a server says it serves only those kinds are kept that somebody
// asks for, and that those of one group and version cost one request.
func TestDiscoveryKeepsWhatIsUsed(t *testing.T) {
	const served = 1000
	var requests atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		list := &metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "example.org/v1",
		}
		for i := range served {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: fmt.Sprintf("resources%d", i), Kind: fmt.Sprintf("Kind%d", i), Verbs: metav1.Verbs{"get"},
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	o := informer.Owner{NamespacedName: types.NamespacedName{Namespace: "team", Name: "user"}}
	kind := func(i int) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
	}
	for range 2 {
		found, err := c.Mappings(t.Context(), o, "references", kind(1), kind(2), kind(3))
		if err != nil || len(found) != 3 || found[kind(2)].Resource.Resource != "resources2" {
			t.Fatalf("want three kinds, got %v, %v", found, err)
		}
	}
	if got := requests.Load(); got != 1 || len(c.known) != 3 {
		t.Errorf("want one request and three kinds, got %d and %v", got, c.known)
	}
	if m, err := c.Mapping(t.Context(), o, kind(4)); err != nil || m.Resource.Resource != "resources4" {
		t.Errorf("a kind that nobody has asked for before: got %v, %v", m, err)
	}
}
