package cloud

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

const keyBits = 2048

// key is the key of all principals and of the endpoints.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		panic(err) // No test can go on.
	}
	return k
})

// certificate returns a self-signed certificate for some names, and the same as PEM without the key.
func certificate(names ...string) (cert tls.Certificate, encoded []byte) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clouds"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key().PublicKey, key())
	if err != nil {
		panic(err) // No test can go on.
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key()},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
