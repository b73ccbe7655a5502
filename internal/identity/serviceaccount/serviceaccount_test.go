package serviceaccount

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestToken shows what the control plane is asked for, and what is told of each refusal.
func TestToken(t *testing.T) {
	accounts := schema.GroupResource{Resource: "serviceaccounts"}
	const answer = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","status":{"token":"t"`
	for name, tc := range map[string]struct {
		reason  string
		refusal *apierrors.StatusError
		answer  string
		want    string // the error
	}{
		"Token": {reason: "It has its end.", answer: answer + `,"expirationTimestamp":"2033-01-02T03:04:05Z"}}`},
		"Missing": {
			reason: "An account may not exist.", refusal: apierrors.NewNotFound(accounts, "deployer"),
			want: "ServiceAccount team-a/deployer does not exist on the control plane",
		},
		"Forbidden": {
			reason: "The cure is named.", refusal: apierrors.NewForbidden(accounts, "deployer", nil),
			want: "the provider may not create tokens of ServiceAccount team-a/deployer: " +
				"grant it verb create on serviceaccounts/token there",
		},
		"Other": {
			reason: "What differs each time is not told.", refusal: apierrors.NewInternalError(io.EOF),
			want: "the control plane returns no token of ServiceAccount team-a/deployer",
		},
		"Endless": {
			reason: "No token lasts for ever.", answer: answer + `}}`,
			want: "the control plane returns a token of ServiceAccount team-a/deployer without an expiration time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body struct {
					Spec any `json:"spec"`
				}
				_ = json.NewDecoder(r.Body).Decode(&body)
				asked = []any{r.Method + " " + r.URL.Path, body.Spec}
				w.Header().Set("Content-Type", "application/json")
				if tc.refusal != nil {
					s := tc.refusal.Status()
					s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
					w.WriteHeader(int(s.Code))
					_ = json.NewEncoder(w).Encode(s)
					return
				}
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer server.Close()
			control, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			token, err := New(control, types.NamespacedName{Namespace: "team-a", Name: "deployer"})(t.Context())
			want := []any{
				"POST /api/v1/namespaces/team-a/serviceaccounts/deployer/token", map[string]any{"expirationSeconds": 3600.0},
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("%s asked: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.want != "" {
				if err == nil || err.Error() != tc.want {
					t.Errorf("%s\nwant error %q, got %v", tc.reason, tc.want, err)
				}
				return
			}
			if err != nil || token.AccessToken != "t" || token.Expiry.Year() != 2033 || token.Expiry.Location() != time.UTC {
				t.Errorf("%s\ngot %v and %v", tc.reason, token, err)
			}
		})
	}
}
