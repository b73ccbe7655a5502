package object_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// nowhere returns the configuration of a server at an address that is none.
func nowhere(addr string) *rest.Config { return &rest.Config{Host: "https://" + addr} }

// TestDeadTargetDelaysNoOther shows that 300 Objects of a server which never answers do not keep 20 Objects of another
// from being ready.
func TestDeadTargetDelaysNoOther(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		dead := newWorldOf(t, c, s, nowhere(kube.BlackHole(t))).crowd(t, 300)
		awaitReady(t, c, newWorld(t, c, s).crowd(t, 20)...)
		for _, o := range dead {
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
		}
		forsake(t, c, dead...)
	})
}

// TestOrphanWithoutCredentials shows that a deleted Object with unreachableTarget: Orphan goes soon although its
// watches go on, when the target does not accept its credentials any more.
func TestOrphanWithoutCredentials(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	account, cfg := robot(t, tc)
	w := newWorldOf(t, c, build.Namespaced(), cfg)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
	o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
	createReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, cfg, w.target, apierrors.IsUnauthorized)
	kube.Remove(t, c, o)
	w.awaitData(t, "settings", "color", "blue")
}

// expiredServer returns the configuration of a server whose certificate has expired, and how often it was shown.
func expiredServer(t *testing.T) (cfg *rest.Config, shown *atomic.Int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(1, 0), NotAfter: time.Unix(1_700_000_000, 0), IsCA: true,
		BasicConstraintsValid: true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // It tells of each client that refuses the certificate.
	shown = &atomic.Int64{}
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shown.Add(1)
			return nil, nil //nolint:nilnil // The standing one is for all clients.
		},
	}
	s.StartTLS()
	t.Cleanup(func() { kube.EndServer(s) })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, shown
}

// TestExpiredCertificateIsToldOnce shows that an Object whose target has an expired certificate says so by one write of
// its status and one event, although each probe of the target fails with another text, which tells the current time.
func TestExpiredCertificateIsToldOnce(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		cfg, shown := expiredServer(t)
		o := newWorldOf(t, c, s, cfg).object(build.ConfigMap("any", "settings"))
		kube.Create(t, c, o)
		message := awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable), "certificate has expired")
		before := shown.Load()
		kube.Eventually(t, "further probes", func() (bool, string) {
			n := shown.Load() - before
			return n > 3, strconv.FormatInt(n, 10)
		})
		staysUnwritten(t, c, o)
		if got := o.GetCondition(failed("").Type).Message; got != message {
			t.Errorf("message: want %q, got %q", message, got)
		}
		if got := events(t, c, o, "certificate has expired"); len(got) != 1 {
			t.Errorf("want one event, got %q", got)
		}
		forsake(t, c, o)
	})
}

// TestSickTargetsDelayNoOther shows that an Object gets ready beside hundreds whose targets answer everything but the
// requests about single resources: TestShares of package fairqueue shows how many workers these get. They say what is
// wrong, and are kept once their targets answer.
func TestSickTargetsDelayNoOther(t *testing.T) {
	const targets, each = 6, 60
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		answers := make(chan struct{})
		var all []build.Object
		for range targets {
			f := newFront(t, func(_ http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/configmaps/") {
					return false
				}
				select {
				case <-answers:
					return false
				case <-r.Context().Done():
					return true
				}
			})
			f.sick.Store(true)
			all = append(all, newWorldOf(t, c, s, f.cfg).crowd(t, each)...)
		}
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, all[len(all)-1], failed(commonv1.ReasonTargetUnreachable))
		close(answers)
		awaitReady(t, c, all...)
	})
}
