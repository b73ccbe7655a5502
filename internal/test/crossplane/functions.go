package crossplane

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// The names of functions, as Crossplane gives them when it installs what a Configuration depends on.
const (
	PatchFunction     = "crossplane-contrib-function-patch-and-transform"
	TemplateFunction  = "crossplane-contrib-function-go-templating"
	ConditionFunction = "crossplane-contrib-function-status-transformer"
	ReadyFunction     = "crossplane-contrib-function-auto-ready"
)

// RunFunctions runs the functions until the test ends, each where Crossplane finds it: one in a process of its own, the
// others in this one. Their packages come from a registry, by its address.
func RunFunctions(t testing.TB, c client.Client, host string) {
	t.Helper()
	certs := issue(t, c)
	server, err := tls.LoadX509KeyPair(filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	creds := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	})
	for name, addr := range serveAll(t, creds, "--tls-certs-dir="+certs) {
		installFunction(t, c, host, name, addr)
	}
}

// ServeFunctions runs the functions without certificates until the test ends, as crossplane render wants them. It
// returns their addresses by their names.
func ServeFunctions(t testing.TB) map[string]string {
	t.Helper()
	return serveAll(t, insecure.NewCredentials(), "--insecure")
}

// serveAll runs the functions until the test ends, and returns their addresses by their names. A flag secures the one
// that has a process of its own as credentials secure the others.
func serveAll(t testing.TB, creds credentials.TransportCredentials, secured string) map[string]string {
	t.Helper()
	return map[string]string{
		PatchFunction:     serve(t, patches{}, creds),
		TemplateFunction:  serve(t, templates{}, creds),
		ConditionFunction: serve(t, conditions{}, creds),
		ReadyFunction:     runReady(t, secured),
	}
}

// serve serves a function until the test ends, and returns its address.
func serve(t testing.TB, function fnv1.FunctionRunnerServiceServer, creds credentials.TransportCredentials) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(creds))
	fnv1.RegisterFunctionRunnerServiceServer(s, function)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("function: %v", err)
		}
	})
	return l.Addr().String()
}

// runReady runs function auto-ready until the test ends, with a flag that says how it is to be reached, and returns its
// address.
func runReady(t testing.TB, secured string) string {
	t.Helper()
	path, err := local.Binary("function-auto-ready")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(path, "--address="+addr, secured)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // It was killed.
		kube.ShowLog(t, "function auto-ready", out.String())
	})
	return addr
}

// issue makes a certificate of Crossplane's authority for functions on loopback, and returns the folder of it.
func issue(t testing.TB, c client.Client) string {
	t.Helper()
	s := &corev1.Secret{}
	kube.Get(t, c, types.NamespacedName{Namespace: local.CrossplaneNamespace, Name: "crossplane-root-ca"}, s)
	authority, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "functions"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, parent, &key.PublicKey, authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, content := range map[string][]byte{
		"ca.crt":  s.Data["tls.crt"],
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
