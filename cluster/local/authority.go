package local

import (
	"crypto"
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

const (
	authorityName = "ca" // of the files of an Authority's own certificate and key
	// certLifetime is how long a certificate is valid, longer than any run of tests.
	certLifetime = 24 * time.Hour
)

// An Authority signs certificates of servers on loopback and of their clients. Its own is in files of a folder, so that
// another process can use it, too.
type Authority struct {
	dir    string
	cert   *x509.Certificate
	signer crypto.Signer
}

// NewAuthority makes an authority, and its folder.
func NewAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of authority")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make key of authority")
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: filepath.Base(dir)}, key)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make certificate of authority")
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode key of authority")
	}
	a := &Authority{dir: dir, cert: cert, signer: key}
	return a, a.write(authorityName, encode(cert.Raw), keyPEM)
}

// openAuthority reads an authority that another process has made.
func openAuthority(dir string) (*Authority, error) {
	a := &Authority{dir: dir}
	certs, err := certutil.CertsFromFile(a.CA())
	if err != nil {
		return nil, errors.Wrap(err, "cannot read certificate of authority")
	}
	key, err := keyutil.PrivateKeyFromFile(a.Key(authorityName))
	if err != nil {
		return nil, errors.Wrap(err, "cannot read key of authority")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.Errorf("cannot sign with key of type %T", key)
	}
	a.cert, a.signer = certs[0], signer
	return a, nil
}

// CA returns the path of the authority's own certificate.
func (a *Authority) CA() string { return a.Cert(authorityName) }

// Cert returns the path of a certificate that Write has written.
func (a *Authority) Cert(name string) string { return filepath.Join(a.dir, name+".crt") }

// Key returns the path of its key.
func (a *Authority) Key(name string) string { return filepath.Join(a.dir, name+".key") }

// Issue returns a certificate of a user, with which a program can be a server, too, and its key, both as PEM.
func (a *Authority) Issue(user string, groups ...string) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot make key of %q", user)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot make serial number of %q", user)
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.ParseIP(loopback)},
	}, a.cert, key.Public(), a.signer)
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot sign certificate of %q", user)
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return encode(der), keyPEM, errors.Wrapf(err, "cannot encode key of %q", user)
}

// Write issues a certificate as files in the folder of the authority, of the name of the user.
func (a *Authority) Write(user string, groups ...string) error {
	certPEM, keyPEM, err := a.Issue(user, groups...)
	if err != nil {
		return err
	}
	return a.write(user, certPEM, keyPEM)
}

// Client returns the configuration of a user that Write has written, for a server of the authority.
func (a *Authority) Client(url, user string) *rest.Config {
	return &rest.Config{
		Host:            url,
		TLSClientConfig: rest.TLSClientConfig{CAFile: a.CA(), CertFile: a.Cert(user), KeyFile: a.Key(user)},
		QPS:             -1,
	}
}

func (a *Authority) write(name string, certPEM, keyPEM []byte) error {
	if err := os.WriteFile(a.Cert(name), certPEM, 0o600); err != nil {
		return errors.Wrapf(err, "cannot write certificate of %q", name)
	}
	return errors.Wrapf(os.WriteFile(a.Key(name), keyPEM, 0o600), "cannot write key of %q", name)
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}
