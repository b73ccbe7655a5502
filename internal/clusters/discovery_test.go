package clusters

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDiscoveryKeepsWhatIsUsed shows that of all that a server says it serves only those kinds are kept that somebody
// asks for, that those of one group and version cost one request, and that so does one that is not there.
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
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: "resources2/status", Kind: "Kind2"})
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	kind := func(i int) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
	}
	for range 2 {
		found, err := c.Mappings(t.Context(), kind(1), kind(2), kind(3))
		if err != nil || len(found) != 3 || found[kind(2)].Resource.Resource != "resources2" {
			t.Fatalf("want three kinds, got %v, %v", found, err)
		}
	}
	if with, _ := c.Mapping(t.Context(), kind(2)); !with.Status {
		t.Error("want subresource status known")
	}
	if without, _ := c.Mapping(t.Context(), kind(3)); without.Status {
		t.Error("want no subresource status where there is none")
	}
	if got := requests.Load(); got != 1 || len(c.served) != 3 {
		t.Errorf("want one request and three kinds, got %d and %v", got, c.served)
	}
	if m, err := c.Mapping(t.Context(), kind(4)); err != nil || m.Resource.Resource != "resources4" {
		t.Errorf("a kind that nobody has asked for before: got %v, %v", m, err)
	}
	for range 9 { // What is not there is not asked for again soon.
		if _, err := c.Mapping(t.Context(), kind(served)); !IsNoKind(err) {
			t.Errorf("want no kind, got %v", err)
		}
	}
	if got := requests.Load(); got != 3 {
		t.Errorf("want a request for the kind that came and one for that which is not there, got %d in all", got)
	}
	c.InvalidateMapping(kind(2)) // As after a 404, which any proxy may answer.
	if _, err := c.Mapping(t.Context(), kind(2)); err != nil || requests.Load() != 4 {
		t.Errorf("want a kind asked for that was served a moment ago, got %v after %d requests", err, requests.Load())
	}
}
