package kcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime is how long certificates are valid, longer than any run of tests.
const lifetime = 24 * time.Hour

// An authority signs the certificates of all programs of a kcp, and of their clients. Its own are the files ca.crt and
// ca.key of a folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority, and its folder.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of authority")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make key of authority")
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "kcp"}, key)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make certificate of authority")
	}
	a := &authority{dir: dir, cert: cert, key: key}
	return a, a.write("ca", cert.Raw, key)
}

// path returns that of a file of the authority.
func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue makes the certificate of a server on loopback that is a client of others, too, as files of its name.
func (a *authority) issue(name string, groups ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return errors.Wrapf(err, "cannot make key of %s", name)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		return errors.Wrapf(err, "cannot make serial number of %s", name)
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.ParseIP(loopback)},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return errors.Wrapf(err, "cannot sign certificate of %s", name)
	}
	return a.write(name, der, key)
}

// config returns the configuration of a client with a certificate, for a server of the authority.
func (a *authority) config(url, name string) *rest.Config {
	return &rest.Config{
		Host: url,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: a.path("ca.crt"), CertFile: a.path(name + ".crt"), KeyFile: a.path(name + ".key"),
		},
		QPS: -1,
	}
}

// write writes a certificate and its key.
func (a *authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	cert := pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
	if err := os.WriteFile(a.path(name+".crt"), cert, 0o600); err != nil {
		return errors.Wrapf(err, "cannot write certificate of %s", name)
	}
	b, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return errors.Wrapf(err, "cannot encode key of %s", name)
	}
	return errors.Wrapf(os.WriteFile(a.path(name+".key"), b, 0o600), "cannot write key of %s", name)
}
