package providerconfig

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A blindClient finds no kind, as that of controller-runtime after a 404 from anybody.
type blindClient struct{ client.Client }

func (blindClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return &apimeta.NoKindMatchError{GroupKind: objectv1alpha2.ObjectGroupVersionKind.GroupKind()}
}

// TestUsersOfUnknownKind shows that a kind which the client does not find counts as one without users only if the
// control plane lists that it does not serve the kind.
func TestUsersOfUnknownKind(t *testing.T) {
	const groups = `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`
	for name, tc := range map[string]struct {
		reason  string
		answers map[string]string // by path; what is not there is a bare 404
		unknown bool
	}{
		"NotServed": {
			reason:  "Where there is no such kind nobody uses the ProviderConfig.",
			answers: map[string]string{"/apis": fmt.Sprintf(groups, "")},
		},
		"Served": {
			reason: "A kind that is served may have users.",
			answers: map[string]string{
				"/apis": fmt.Sprintf(groups, `{"name":"kubernetes.crossplane.io","versions":[{"version":"v1alpha2"}]}`),
				"/apis/kubernetes.crossplane.io/v1alpha2": `{"kind":"APIResourceList","apiVersion":"v1","resources":[` +
					`{"name":"objects","kind":"Object","verbs":["get","list","watch"]}]}`,
			},
			unknown: true,
		},
		"NotFound": {reason: "That something before the control plane knows nothing proves nothing.", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				answer, ok := tc.answers[req.URL.Path]
				if !ok {
					http.NotFound(w, req)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			}))
			defer s.Close()
			registry, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{Host: s.URL}})
			if err != nil {
				t.Fatal(err)
			}
			defer registry.Close()
			kube.Eventually(t, "the control plane to respond", func() (bool, string) {
				err := registry.Local().Ready(t.Context())
				return err == nil, fmt.Sprint(err)
			})
			r := &reconciler{client: blindClient{}, registry: registry, config: scope.ClusterScopeConfig()}
			n, err := r.users(t.Context(), r.config.New())
			if n != 0 || (err != nil) != tc.unknown {
				t.Errorf("%s\nwant no users, and an error %t, got %d, %v", tc.reason, tc.unknown, n, err)
			}
		})
	}
}
