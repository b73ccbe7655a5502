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
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	usersCert = "users-ca.crt" // below certsDir
	usersKey  = "users-ca.key"
	// userLifetime is how long a certificate of a user is valid, longer than any run of tests.
	userLifetime = 24 * time.Hour
)

// users issues client certificates for the users of a cluster. Its authority is in the folder of the cluster, so that
// another process can add users, too: that of envtest exists in the memory of one process only.
type users struct {
	dir    string // with the certificates of the cluster
	ca     *x509.Certificate
	signer crypto.Signer
}

var _ envtest.Authn = &users{}

// Configure makes an authority in a folder, and lets the API server accept what it issues. Each start of the API server
// calls it; the authority stays the same.
func (u *users) Configure(dir string, args *envtest.Arguments) error {
	u.dir = dir
	if u.signer == nil {
		if err := u.create(); err != nil {
			return err
		}
	}
	args.Set("client-ca-file", filepath.Join(dir, usersCert))
	return nil
}

// Start does nothing: the files are there.
func (u *users) Start() error { return nil }

// Stop does nothing: the files go with the folder.
func (u *users) Stop() error { return nil }

// AddUser returns a configuration with a certificate for a user.
func (u *users) AddUser(user envtest.User, base *rest.Config) (*rest.Config, error) {
	cfg := rest.CopyConfig(base)
	var err error
	cfg.CertData, cfg.KeyData, err = u.issue(user)
	return cfg, errors.Wrapf(err, "cannot add user %q", user.Name)
}

// create makes a new authority and writes it to the folder.
func (u *users) create() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return errors.Wrap(err, "cannot make key of authority for users")
	}
	u.signer = key
	if u.ca, err = certutil.NewSelfSignedCACert(certutil.Config{CommonName: "users"}, key); err != nil {
		return errors.Wrap(err, "cannot make certificate of authority for users")
	}
	if err := os.WriteFile(filepath.Join(u.dir, usersCert), encode(u.ca.Raw), 0o600); err != nil {
		return errors.Wrap(err, "cannot write certificate of authority for users")
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return errors.Wrap(err, "cannot encode key of authority for users")
	}
	err = os.WriteFile(filepath.Join(u.dir, usersKey), keyPEM, 0o600)
	return errors.Wrap(err, "cannot write key of authority for users")
}

// load reads the authority of a cluster that another process has started.
func (u *users) load() error {
	certs, err := certutil.CertsFromFile(filepath.Join(u.dir, usersCert))
	if err != nil {
		return errors.Wrap(err, "cannot read certificate of authority for users")
	}
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(u.dir, usersKey))
	if err != nil {
		return errors.Wrap(err, "cannot read key of authority for users")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return errors.Errorf("cannot sign with key of type %T", key)
	}
	u.ca, u.signer = certs[0], signer
	return nil
}

// issue returns a certificate for a user and its key, both as PEM.
func (u *users) issue(user envtest.User) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user.Name, Organization: user.Groups},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(userLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, u.ca, key.Public(), u.signer)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return encode(der), keyPEM, err
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}
