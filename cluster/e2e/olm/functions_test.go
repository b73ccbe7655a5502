package olm

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

const (
	patchFunction = "crossplane-contrib-function-patch-and-transform"
	readyFunction = "crossplane-contrib-function-auto-ready"
)

// startRegistry runs a registry until the test ends, and returns its address.
func startRegistry(t *testing.T) string {
	t.Helper()
	host, end := oci.StartRegistry()
	t.Cleanup(end)
	return host
}

// runFunctions runs the functions of the stacks until the test ends, each where Crossplane finds it: one in this
// process, one in its own.
func runFunctions(t *testing.T, c client.Client, host string) {
	t.Helper()
	certs := issue(t, c)
	server, err := tls.LoadX509KeyPair(filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	})))
	fnv1.RegisterFunctionRunnerServiceServer(s, patches{})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("function: %v", err)
		}
	})
	installFunction(t, c, host, patchFunction, l.Addr().String())
	installFunction(t, c, host, readyFunction, runReady(t, certs))
}

// runReady runs function auto-ready until the test ends, and returns its address.
func runReady(t *testing.T, certs string) string {
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
	cmd := exec.Command(path, "--address="+addr, "--tls-certs-dir="+certs)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // It was killed.
		if t.Failed() {
			t.Logf("function auto-ready: %s", out.String())
		}
	})
	return addr
}

// installFunction lets Crossplane install the package of a function that runs at an address.
func installFunction(t *testing.T, c client.Client, host, name, addr string) {
	t.Helper()
	image := host + "/crossplane-contrib/" + strings.TrimPrefix(name, "crossplane-contrib-") + ":v1.0.0"
	meta := fmt.Appendf(nil, "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: %s\n", name)
	oci.Push(t, image, fstest.MapFS{"package.yaml": {Data: meta, Mode: 0o644}})
	f := pkg("Function", name)
	if err := unstructured.SetNestedField(f.Object, image, "spec", "package"); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"endpoint":%q}}`, addr))
	kube.Eventually(t, "the revision of "+name, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return false, err.Error()
		}
		revision, _, _ := unstructured.NestedString(f.Object, "status", "currentRevision")
		if revision == "" {
			return false, fmt.Sprint(f.Object["status"])
		}
		err := c.Status().Patch(t.Context(), pkg("FunctionRevision", revision), patch)
		return err == nil, fmt.Sprint(err)
	})
}

// installConfiguration builds a Configuration of the stacks, and lets Crossplane install it from a registry.
func installConfiguration(t *testing.T, c client.Client, host, name string) {
	t.Helper()
	crank, err := local.Binary("crank")
	if err != nil {
		t.Fatal(err)
	}
	file, image := filepath.Join(t.TempDir(), "package.xpkg"), host+"/crossplane-contrib/capabilities-"+name+":v0.1.0"
	for _, args := range [][]string{
		{
			"xpkg", "build", "--package-root=" +
				filepath.Join(capabilities, "configurations", name), "--examples-root=" + t.TempDir(),
			"--package-file=" + file,
		},
		{"xpkg", "push", "--package-files=" + file, image},
	} {
		if out, err := exec.Command(crank, args...).CombinedOutput(); err != nil {
			t.Fatalf("crossplane %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	u := pkg("Configuration", "capabilities-"+name)
	u.Object["spec"] = map[string]any{"package": image, "skipDependencyResolution": true}
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "Configuration "+name, func() (bool, string) {
		b := bed{c: c}
		status, why := b.condition(t, u, "Healthy")
		return status == "True", fmt.Sprint(status, " ", why)
	})
}

// pkg names a package of Crossplane.
func pkg(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: kind})
	u.SetName(name)
	return u
}

// issue makes a certificate of Crossplane's authority for functions on loopback, and returns the folder of it.
func issue(t *testing.T, c client.Client) string {
	t.Helper()
	s := &corev1.Secret{}
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: local.CrossplaneNamespace, Name: "crossplane-root-ca"},
		s); err != nil {
		t.Fatal(err)
	}
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
