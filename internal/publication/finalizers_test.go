package publication

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNotServed shows that of a kind which the service cluster does not serve there is nothing only if discovery says
// so: any proxy may answer 404.
func TestNotServed(t *testing.T) {
	groups := func(all ...any) http.HandlerFunc {
		return answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "APIGroupList", "groups": all})
	}
	kinds := func(names ...string) http.HandlerFunc {
		var all []any
		for _, n := range names {
			all = append(all, map[string]any{"name": n, "kind": "Kind", "namespaced": true, "verbs": []any{"list"}})
		}
		return answer(http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "example.net/v2", "resources": all,
		})
	}
	version := map[string]any{"groupVersion": "example.net/v2", "version": "v2"}
	group := map[string]any{"name": "example.net", "versions": []any{version}, "preferredVersion": version}
	for name, tc := range map[string]struct {
		reason        string
		groups, kinds http.HandlerFunc
		gone          bool
	}{
		"NoGroup": {reason: "The group is not served.", groups: groups(), gone: true},
		"NoKind":  {reason: "The group has others.", groups: groups(group), kinds: kinds("others"), gone: true},
		"Version": {reason: "It is served in another version.", groups: groups(group), kinds: kinds("gones")},
		"Unknown": {reason: "A proxy answers.", groups: http.NotFound},
		"NotTold": {reason: "Of one group nothing is told.", groups: groups(group), kinds: http.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: map[string]http.HandlerFunc{
				"/apis": tc.groups, "/apis/example.net/v2": tc.kinds,
				"/api": answer(http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []any{"v1"}}),
			}}
			p, _ := newThings(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/gones") {
					http.NotFound(w, r)
					return
				}
				s.ServeHTTP(w, r)
			}), "a")
			open(t, p)
			pass := p.worker.newPass(t.Context(), in("a", "web"))
			gones := reader{side: &side{pass: pass}, resource: schema.GroupVersionResource{
				Group: "example.net", Version: "v1", Resource: "gones",
			}}
			kube.Eventually(t, "an answer", func() (bool, string) {
				_, err := gones.Get(types.NamespacedName{Namespace: "a", Name: "web"})
				return apierrors.IsNotFound(err) == tc.gone && err != nil && !informer.IsNotSynced(err), fmt.Sprint(err)
			})
		})
	}
}
