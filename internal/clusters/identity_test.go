package clusters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// A named server says who it is, unless that is empty: then nobody may know.
type named struct {
	base string // what comes before the API in its paths

	mu    sync.Mutex
	uid   string
	asked []string // paths
	woken []string // names of users of connections to it
}

// is has the server be another one.
func (s *named) is(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uid = uid
}

// wake takes that a user is woken.
func (s *named) wake(n types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, n.Name)
}

// awake returns who has been woken, each once.
func (s *named) awake() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.woken)))
}

// ServeHTTP answers with an object that has the UID.
func (s *named) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/version") {
		return
	}
	s.asked = append(s.asked, strings.TrimPrefix(r.URL.Path, s.base))
	w.Header().Set("Content-Type", "application/json")
	if s.uid == "" {
		w.WriteHeader(http.StatusForbidden)
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"uid":"%s"}}`, s.uid)
}

// TestIdentity shows what tells a cluster from others, and that all users of one that has become another connect anew,
// and share a connection again.
func TestIdentity(t *testing.T) {
	const (
		deletion  = `","deletionTimestamp":"2026-01-02T03:04:05Z`
		namespace = "/api/v1/namespaces/kube-system"
		logical   = "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster"
	)
	for name, tc := range map[string]struct {
		reason    string
		base      string
		asked     string // for what, empty for nothing
		uid, next string // at first, and when it is asked once more
		same      bool   // It is the same then.
		anew      bool   // All connect anew.
	}{
		"Same":      {"One that stays says so.", "", namespace, "a", "a", true, false},
		"Another":   {"Another one ends the connection.", "", namespace, "a", "b", false, true},
		"Unknown":   {"None proves nothing.", "", namespace, "", "", false, false},
		"Withdrawn": {"None any more proves nothing.", "", namespace, "a", "", false, false},
		"Granted":   {"What came before it may be another's.", "", namespace, "", "a", false, true},
		"Workspace": {"A workspace has a LogicalCluster.", "/clusters/root:a", logical, "a", "b", false, true},
		"Ending":    {"One in deletion is not trusted.", "/clusters/root:a", logical, "a", "a" + deletion, false, false},
		"Virtual":   {"A virtual workspace shows many.", "/services/a/clusters/*", "", "", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &named{base: tc.base, uid: tc.uid}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			r, err := NewRegistry(Options{Injected: &rest.Config{Host: server.URL + tc.base}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			first := connectSome(t, r)[0]
			r.OnChange("test", s.wake)
			first.isSame(t.Context(), false)
			first.isSame(t.Context(), false)
			if got := string(first.Identity()); got != tc.uid {
				t.Errorf("identity: want %q, got %q", tc.uid, got)
			}
			s.is(tc.next)
			if got := first.isSame(t.Context(), true); got != tc.same {
				t.Errorf("%s Same: want %t, got %t", tc.reason, tc.same, got)
			}
			var want []string
			if tc.asked != "" {
				want = []string{tc.asked, tc.asked}
			}
			if diff := cmp.Diff(want, s.asked); diff != "" {
				t.Errorf("asked for: -want, +got:\n%s", diff)
			}
			if woken := s.awake(); tc.anew && len(woken) != users { // The first answer may wake them, too.
				t.Errorf("%s want all woken, got %v", tc.reason, woken)
			}
			connectSome(t, r)
			next := slices.Compact(connectSome(t, r))
			if anew := next[0] != first; anew != tc.anew || len(next) != 1 {
				t.Errorf("%s Connected anew: want %t, got %t, to %d clusters", tc.reason, tc.anew, anew, len(next))
			}
		})
	}
}

// users is how many users connectSome connects.
const users = 3

// connectSome connects users with the same credentials.
func connectSome(t *testing.T, r *Registry) (all []*Cluster) {
	t.Helper()
	for i := range users {
		o := informer.Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}
		all = append(all, connectAs(t, r, o, "jane"))
	}
	return all
}

// TestSourceOfIdentity shows which sources go with which identities.
func TestSourceOfIdentity(t *testing.T) {
	const (
		none   = xpv2.CredentialsSourceNone
		own    = xpv2.CredentialsSourceInjectedIdentity
		secret = xpv2.CredentialsSourceSecret
	)
	for name, tc := range map[string]struct {
		reason   string
		identity commonv1.IdentityType
		source   xpv2.CredentialsSource
		err      string // part of the message
	}{
		"GoogleOwn":  {"The provider may have Google credentials.", commonv1.IdentityGoogle, own, ""},
		"GoogleNone": {"Without any, Google's library looks for them.", commonv1.IdentityGoogle, none, ""},
		"AWSOwn":     {"The provider may have AWS credentials.", commonv1.IdentityAWSWeb, own, ""},
		"AWSSecret": {
			"Nobody else has.", commonv1.IdentityAWSWeb, secret,
			"spec.identity.source Secret cannot be used with type AWSWebIdentityCredentials",
		},
		"Account": {
			"A ServiceAccount is no identity.", commonv1.IdentityGoogle, commonv1.CredentialsSourceServiceAccount,
			"spec.identity.source ServiceAccount cannot be used with type GoogleApplicationCredentials",
		},
		"AzureOwn":      {"Azure's must be given.", commonv1.IdentityAzureServicePrincipal, own, "used with type Azure"},
		"AzureNone":     {"They are needed.", commonv1.IdentityAzureServicePrincipal, none, "used with type Azure"},
		"AzureWorkload": {"Also those of workloads.", commonv1.IdentityAzureWorkload, own, "used with type Azure"},
		"UpboundOwn":    {"So are Upbound's.", commonv1.IdentityUpbound, own, "cannot be used with type UpboundTokens"},
		"Nebius":        {"It is not built in.", commonv1.IdentityNebius, secret, "type NebiusServiceAccountCredentials is"},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := parseKubeconfig(kubeconfigOf(`server: "https://127.0.0.1"`, ``), "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = tokens(credentials{identityType: tc.identity, identity: document{source: tc.source}}, k)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.err, err)
			}
		})
	}
}

// TestIdentityWithoutKubeconfig shows that the provider's own cluster may be used by an identity that needs no
// kubeconfig, and that one which does says so.
func TestIdentityWithoutKubeconfig(t *testing.T) {
	own := document{source: xpv2.CredentialsSourceInjectedIdentity}
	if _, err := tokens(credentials{identityType: commonv1.IdentityGoogle, identity: own}, kubeconfig{}); err != nil {
		t.Error(err)
	}
	if _, err := tokens(credentials{identityType: commonv1.IdentityAWSWeb, identity: own}, kubeconfig{}); err == nil {
		t.Error("AWS needs the name of the cluster")
	}
}

// TestServiceAccount shows that nothing by which the provider authenticates is left beside the token of a
// ServiceAccount: a client certificate would win over it. Nor does the token go to an address that somebody names.
func TestServiceAccount(t *testing.T) {
	ca := rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "control"}
	own := &rest.Config{
		Host: "https://control", TLSClientConfig: ca, BearerToken: "own", BearerTokenFile: "own", Username: "own",
		Password: "own", Impersonate: rest.ImpersonationConfig{UserName: "own"}, ExecProvider: &clientcmdapi.ExecConfig{},
	}
	own.CertData, own.KeyData, own.CertFile, own.KeyFile = []byte("own"), []byte("own"), "own", "own"
	c := credentials{kubeconfig: document{
		source: commonv1.CredentialsSourceServiceAccount, account: types.NamespacedName{Namespace: "team", Name: "robot"},
	}}
	got, err := Options{Injected: own}.access(c)
	if err != nil {
		t.Fatal(err)
	}
	got.config.WarningHandlerWithContext = nil
	if diff := cmp.Diff(&rest.Config{Host: "https://control", TLSClientConfig: ca}, got.config); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	c.endpoint = "https://elsewhere/services/apiexport/a/b"
	if _, err := (Options{Injected: own}).access(c); err == nil {
		t.Error("the token may go elsewhere")
	}
}
