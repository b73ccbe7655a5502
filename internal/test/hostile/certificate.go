package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"
)

// validity is how long before and after now a certificate is valid.
const validity = 24 * time.Hour

// A certificateSet holds the certificates a Server may present.
type certificateSet struct {
	ca                               []byte // of all but foreign, as PEM
	valid, expired, another, foreign *tls.Certificate
}

// certificates returns the certificates of all Servers of the process. It panics if there is no randomness.
var certificates = sync.OnceValue(func() certificateSet {
	now := time.Now()
	ca, rotated := newAuthority("hostile"), newAuthority("rotated")
	loopback := x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: now.Add(validity)}
	expired := loopback
	expired.NotAfter = now.Add(-time.Hour)
	another := x509.Certificate{DNSNames: []string{"elsewhere.example.com"}, NotAfter: now.Add(validity)}
	return certificateSet{
		ca:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}),
		valid: ca.issue(loopback), expired: ca.issue(expired), another: ca.issue(another),
		foreign: rotated.issue(loopback),
	}
})

// An authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) authority {
	key := newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-validity), NotAfter: time.Now().Add(validity), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return authority{cert: cert, key: key}
}

// issue returns a certificate of a server.
func (a authority) issue(template x509.Certificate) *tls.Certificate {
	key := newKey()
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-validity)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, key.Public(), a.key)
	if err != nil {
		panic(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// certificate returns what the Server presents.
func (s *Server) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if f := s.listener.current(); f != nil && f.cert != nil {
		return f.cert(), nil
	}
	return certificates().valid, nil
}
