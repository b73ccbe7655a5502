package clusters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestVersionIn(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer string
		want   string
	}{
		"Version": {"The version is shown.", `{"major":"1","gitVersion":"v1.36.1+kcp-v0.30.0"}`, "v1.36.1+kcp-v0.30.0"},
		"Foreign": {"Text that is not a version is not shown.", `{"gitVersion":"v1.36 <script>"}`, ""},
		"Long":    {"A version of over 60 characters is not shown.", fmt.Sprintf(`{"gitVersion":"v1.36.%0100d"}`, 1), ""},
		"Refusal": {"A refusal has no version.", `{"kind":"Status","code":403}`, ""},
		"Page":    {"A page of a proxy has no version.", "<html>", ""},
		"Nothing": {"An empty answer has no version.", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := versionIn([]byte(tc.answer)); got != tc.want {
				t.Errorf("%s\nversionIn: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestAddressOf(t *testing.T) {
	u, err := url.Parse("https://user:password@kcp.example.com:6443/clusters/root:org?token=secret#part")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("https://kcp.example.com:6443/clusters/root:org", addressOf(u)); diff != "" {
		t.Errorf("addressOf: -want, +got:\n%s", diff)
	}
	u.Path = strings.Repeat("a", 2*maxAddress)
	if got := len(addressOf(u)); got != maxAddress {
		t.Errorf("addressOf a long URL: want %d bytes, got %d", maxAddress, got)
	}
}

// TestHealth follows a target that answers, refuses the credentials for less than 10 s and for longer, and accepts them
// again. The metric has the same state while the ProviderConfig is in use.
func TestHealth(t *testing.T) {
	const config = "ProviderConfig.example.org/default/cluster"
	var refuses atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.1"}`)
		case refuses.Load():
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		}
	}))
	defer s.Close()
	r, reported := newHealthRegistry(t, s.URL)
	o := informer.Owner{Controller: "c", NamespacedName: types.NamespacedName{Name: "o"}}
	r.Bind(o, config)
	c := connectAs(t, r, o, "somebody")
	well := Health{Known: true, Server: s.URL, Version: "v1.36.1"}
	if diff := cmp.Diff(well, r.Health(config)); diff != "" {
		t.Errorf("Health: -want, +got:\n%s", diff)
	}
	awaitReport(t, reported, config)

	ask := func() {
		t.Helper()
		res, err := c.http.Get(s.URL + "/apis")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	refuses.Store(true)
	ask()
	awaitReport(t, reported, config)
	if h := r.Health(config); !errors.Is(h.Err, ErrUnauthorized) {
		t.Errorf("a refusal that a user has met: want ErrUnauthorized, got %v", h.Err)
	}
	assertReadyConfigs(t, r, 1, 0)
	refuses.Store(false)
	ask()
	awaitReport(t, reported, config)
	if diff := cmp.Diff(well, r.Health(config)); diff != "" {
		t.Errorf("Health of a target that accepts the credentials again: -want, +got:\n%s", diff)
	}
	assertReadyConfigs(t, r, 1, 1)

	r.Forget(o)
	awaitReport(t, reported, config)
	if diff := cmp.Diff(Health{}, r.Health(config)); diff != "" {
		t.Errorf("Health of what nobody uses: -want, +got:\n%s", diff)
	}
	assertReadyConfigs(t, r, 0, 0)
}

// injectedAs describes the provider's own cluster, seen by a user.
func injectedAs(user string) commonv1.Connection {
	return commonv1.Connection{Spec: &commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
		Impersonate: &commonv1.Impersonation{User: user},
	}}
}

// connectAs connects an owner to the provider's own cluster.
func connectAs(t *testing.T, r *Registry, o informer.Owner, user string) (c *Cluster) {
	t.Helper()
	eventually(t, "the target to be connected", func() bool {
		var err error
		c, err = r.Connect(t.Context(), o, injectedAs(user))
		return err == nil
	})
	return c
}

// newHealthRegistry returns a Registry, and a channel of the keys of the ProviderConfigs whose health it reports.
func newHealthRegistry(t *testing.T, server string) (*Registry, chan string) {
	t.Helper()
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: server}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	reported := make(chan string, 100)
	const kind = "ProviderConfig.example.org"
	r.OnChange(kind, func(n types.NamespacedName) { reported <- kind + "/" + n.String() })
	return r, reported
}

// awaitReport waits until the health of a ProviderConfig is reported, and drops the reports that follow at once.
func awaitReport(t *testing.T, reported chan string, key string) {
	t.Helper()
	select {
	case got := <-reported:
		if got != key {
			t.Errorf("reported ProviderConfig: want %q, got %q", key, got)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no report for ProviderConfig %q", key)
	}
	for len(reported) > 0 {
		<-reported
	}
}

// assertReadyConfigs compares the metric with how many series it must have, and with their value.
func assertReadyConfigs(t *testing.T, r *Registry, series int, value float64) {
	t.Helper()
	c := r.Metrics()
	if got := testutil.CollectAndCount(c); got != series {
		t.Fatalf("want %d series, got %d", series, got)
	}
	if series == 1 {
		if got := testutil.ToFloat64(c); got != value {
			t.Errorf("want the value %v, got %v", value, got)
		}
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	kube.Eventually(t, what, func() (bool, string) { return is(), "not yet" })
}

// TestTryCredentials shows that credentials are tried until the target has accepted them, and not again.
func TestTryCredentials(t *testing.T) {
	var tried atomic.Int32
	var accepts atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Impersonate-User") != "" { // It is no probe.
			tried.Add(1)
			if !accepts.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
		}
		fmt.Fprint(w, `{"gitVersion":"v1.36.1"}`)
	}))
	defer s.Close()
	r, _ := newHealthRegistry(t, s.URL)
	c := connectAs(t, r, informer.Owner{Controller: "c"}, "somebody")
	if err := c.TryCredentials(t.Context()); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("refused credentials: want ErrUnauthorized, got %v", err)
	}
	accepts.Store(true)
	for range 3 {
		if err := c.TryCredentials(t.Context()); err != nil {
			t.Errorf("accepted credentials: want no error, got %v", err)
		}
	}
	if n := tried.Load(); n != 2 {
		t.Errorf("want 2 requests with credentials, got %d", n)
	}
}

// TestAuthorized shows that a target is asked each time, and that only what it serves is an answer.
func TestAuthorized(t *testing.T) {
	type answer struct {
		code int
		body string
	}
	const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","code":%d}`
	var next atomic.Pointer[answer]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"gitVersion":"v1.36.1"}`)
			return
		}
		w.WriteHeader(next.Load().code)
		fmt.Fprint(w, next.Load().body)
	}))
	defer s.Close()
	r, _ := newHealthRegistry(t, s.URL)
	c := connectAs(t, r, informer.Owner{Controller: "c"}, "somebody")
	unknown := answer{http.StatusUnauthorized, fmt.Sprintf(refusal, "Unauthorized", http.StatusUnauthorized)}
	stranger := answer{http.StatusForbidden, fmt.Sprintf(refusal, "Forbidden", http.StatusForbidden)}
	shown := answer{http.StatusOK, `{"kind":"APIVersions","versions":["v1"]}`}
	for _, tc := range []struct {
		reason string
		answer answer
		want   bool
	}{
		{"It does not know the credentials.", unknown, false},
		{"It knows the user, and shows nothing.", stranger, false},
		{"It is no API server.", answer{http.StatusOK, `{"Code":"Success"}`}, false},
		{"It shows what it serves.", shown, true},
		{"The credentials have been revoked.", unknown, false},
		{"It knows them again.", shown, true},
	} {
		next.Store(&tc.answer)
		if err := c.Authorized(t.Context()); (err == nil) != tc.want {
			t.Errorf("%s want authorized %t, got %v", tc.reason, tc.want, err)
		}
	}
}
