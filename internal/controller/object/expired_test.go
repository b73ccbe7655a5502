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
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
		ns, pc := connect(t, c, s, cfg)
		o := s.Object(ns, target.Namespace(t), pc, build.ConfigMap("any", "settings"))
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
		abandon(t, c, o)
	})
}
