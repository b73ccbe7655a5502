package clusters

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

func networks(t *testing.T, list ...string) []netip.Prefix {
	t.Helper()
	n, err := ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAddresses shows which addresses tenants may point at.
func TestAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		allowed, denied string
		pod             bool
		may, mayNot     string
	}{
		"Default": {
			reason: "What belongs to the node is denied, however it is written; loopback is the machine's own outside of pods.",
			may:    "10.0.0.1 192.0.2.1 2001:db8::1 127.0.0.1 ::1",
			mayNot: "169.254.169.254 ::ffff:169.254.169.254 fe80::1 fe80::1%eth0 fd00:ec2::254 0.0.0.0 :: 64:ff9b::a9fe:a9fe",
		},
		"Pod": {
			reason: "In a pod loopback is the provider's own.", pod: true,
			may: "10.0.0.1", mayNot: "127.0.0.1 127.8.0.1 ::1 ::ffff:127.0.0.1",
		},
		"Denied": {
			reason: "Operators deny more.", denied: "10.0.0.0/8,fd00::/8",
			may: "192.0.2.1", mayNot: "10.1.2.3 ::ffff:10.1.2.3 fd12::1 169.254.169.254",
		},
		"Allowed": {
			reason: "If operators allow some, the others are denied.", allowed: "192.0.2.0/24, 2001:db8::/32",
			may: "192.0.2.7 2001:db8::7", mayNot: "10.0.0.1 2001:db9::1 169.254.169.254",
		},
		"AllowAll": {
			reason: "A wide network that is allowed opens no narrow one that is denied.", allowed: "0.0.0.0/0",
			pod: true,
			may: "10.0.0.1", mayNot: "169.254.169.254 127.0.0.1 2001:db8::1",
		},
		"Exception": {
			reason: "The narrowest decides.", allowed: "10.0.0.0/8,127.0.0.0/8,169.254.1.1", denied: "10.1.0.0/16",
			pod: true,
			may: "10.0.0.1 127.0.0.1 169.254.1.1", mayNot: "10.1.0.1 169.254.169.254",
		},
		"Equal": {
			reason: "Between equals, denied wins.", allowed: "10.0.0.0/8", denied: "10.0.0.0/8", mayNot: "10.0.0.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := Addresses{Allowed: networks(t, tc.allowed), Denied: networks(t, tc.denied), Pod: tc.pod}
			for ip := range strings.FieldsSeq(tc.may) {
				if err := a.check(netip.MustParseAddr(ip)); err != nil {
					t.Errorf("%s %s: got %v", tc.reason, ip, err)
				}
			}
			for ip := range strings.FieldsSeq(tc.mayNot) {
				if err := a.check(netip.MustParseAddr(ip)); err == nil {
					t.Errorf("%s %s is let through", tc.reason, ip)
				}
			}
		})
	}
}

func TestParseNetworks(t *testing.T) {
	for _, bad := range []string{"10.0.0.0/33", "host", "10.0.0", "fe80::1%eth0", "::ffff:10.0.0.0/104"} {
		if n, err := ParseNetworks([]string{bad}); err == nil {
			t.Errorf("%q is no network: got %v", bad, n)
		}
	}
}

// TestDialledAddress shows that the address is checked that is dialled, for tenants and nobody else, and that a proxy's
// is.
func TestDialledAddress(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	byName := "http://localhost:" + port
	denied := Addresses{Denied: networks(t, "127.0.0.0/8", "::1")}

	awaitUp(t, clusterAt(t, byName, identity.WriterOperator, denied))
	awaitUp(t, clusterAt(t, byName, identity.WriterTenant, Addresses{}))
	t.Setenv("HTTP_PROXY", byName)
	for name, url := range map[string]string{
		"Name": byName, "Address": s.URL, "MappedAddress": "http://[::ffff:127.0.0.1]:" + port,
	} {
		c := clusterAt(t, url, identity.WriterTenant, denied)
		eventually(t, "a probe", func() bool { return !apierrors.IsConflict(c.Ready(t.Context())) })
		err := c.Ready(t.Context())
		if !IsInvalidConnection(err) || !strings.Contains(err.Error(), "--denied-target-cidrs") {
			t.Errorf("%s: the error names the rule and the flag: got %v", name, err)
		}
	}
}

// TestTokensOfTenants shows that the address of a token endpoint is checked as that of a server is.
func TestTokensOfTenants(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	routes := newRoutes(Addresses{Denied: networks(t, "127.0.0.0/8")}, nil)
	for by, want := range map[identity.Writer]string{
		identity.WriterOperator: "the token endpoint responds with 404 Not Found",
		identity.WriterTenant: "cannot reach the token endpoint: its address is in 127.0.0.0/8, which " +
			"--denied-target-cidrs denies, so a namespaced ProviderConfig may not use it: use another server",
	} {
		e := identity.NewExchange(routes[by].forTokens(t.Context()))
		if res, err := e.Client().Get(s.URL); err == nil {
			_ = res.Body.Close()
		}
		if diff := cmp.Diff(want, e.Reason("")); diff != "" {
			t.Errorf("writer %d: -want, +got:\n%s", by, diff)
		}
	}
}
