// Package certificates_test has cert-manager issue certificates for consumers in workspaces of a kcp, with the program
// and the examples that users have.
package certificates_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// The service cluster has a garbage collector, which deletes the Secrets of Certificates that are gone.
var (
	service    = kube.Server{ControllerManager: true}
	workspaces kcp.Server
	root       = filepath.Join("..", "..", "..")
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

// runCertManager installs cert-manager and starts it.
func runCertManager(t *testing.T) {
	t.Helper()
	dir, err := local.CertManagerDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	service.InstallCRDs(t, dir)
	m, err := local.StartCertManager(local.CertManagerOptions{Dir: t.TempDir(), Config: service.Config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// example reads the one resource of an example, and changes it.
func example(t *testing.T, file string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "examples", file))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(u)
	}
	return u
}

func set(t *testing.T, path string, fields ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		t.Helper()
		if err := unstructured.SetNestedField(u.Object, path, fields...); err != nil {
			t.Fatal(err)
		}
	}
}

// create creates a resource as soon as its kind is served.
func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	kube.Eventually(t, "creation of "+o.GetName(), func() (bool, string) {
		err := c.Create(t.Context(), o)
		return err == nil, fmt.Sprint(err)
	})
}

// issuedFor returns the names a certificate is for, if a Secret holds one with its key.
func issuedFor(ctx context.Context, c client.Client) ([]string, error) {
	s := &corev1.Secret{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-tls"}, s); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, err
	}
	return parsed.DNSNames, nil
}

func awaitIssued(t *testing.T, c client.Client, names ...string) {
	t.Helper()
	kube.Eventually(t, "a certificate with its key", func() (bool, string) {
		got, err := issuedFor(t.Context(), c)
		return err == nil && slices.Equal(got, names), fmt.Sprint(got, err)
	})
}

// awaitReady waits until the status of a Certificate says that it is issued, and tells nothing of the service cluster.
func awaitReady(t *testing.T, c client.Client) {
	t.Helper()
	u := example(t, "sync/consumer.yaml")
	kube.Await(t, c, u, "Ready", func() (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == "Ready" && m["status"] == "True"
		}), fmt.Sprint(u.Object["status"])
	})
}

// TestCertificates follows Certificates of one name in two workspaces through their lives.
func TestCertificates(t *testing.T) {
	service.InstallCRDs(t, filepath.Join(root, "package", "crds"))
	runCertManager(t)
	c := service.Client(t, apis.AddToScheme)
	path, admin := workspaces.Workspace(t)
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "crossplane-system"}})
	create(t, c, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "crossplane-system", Name: "kcp-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kube.Kubeconfig(t, admin)},
	})
	create(t, c, example(t, "publish/workspace.yaml", set(t, path, "spec", "kcp", "workspacePath")))
	create(t, c, example(t, "publish/certificate.yaml"))
	create(t, c, example(t, "sync/issuer.yaml"))
	program.Start(t, service.User(t, "provider", "system:masters"), provider.Options{})

	var teams []client.Client
	for range 2 {
		_, cfg := workspaces.Workspace(t)
		in := kcp.Client(t, cfg)
		create(t, in, example(t, "publish/binding.yaml", set(t, path, "spec", "reference", "export", "path")))
		create(t, in, example(t, "sync/consumer.yaml"))
		teams = append(teams, in)
	}
	keys := map[string]bool{}
	for _, in := range teams {
		awaitReady(t, in)
		awaitIssued(t, in, "web.example.com")
		s := &corev1.Secret{}
		if err := in.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-tls"},
			s); err != nil {
			t.Fatal(err)
		}
		keys[string(bytes.TrimSpace(s.Data[corev1.TLSPrivateKeyKey]))] = true
	}
	if len(keys) != len(teams) {
		t.Error("both workspaces have the same key")
	}

	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"dnsNames":["shop.example.com"]}}`))
	if err := teams[0].Patch(t.Context(), example(t, "sync/consumer.yaml"), patch); err != nil {
		t.Fatal(err)
	}
	awaitIssued(t, teams[0], "shop.example.com")
	awaitIssued(t, teams[1], "web.example.com")

	for i, in := range teams {
		if err := in.Delete(t.Context(), example(t, "sync/consumer.yaml")); err != nil {
			t.Fatal(err)
		}
		kube.Eventually(t, "the end of the Certificate and its Secret", func() (bool, string) {
			err := in.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web"},
				example(t, "sync/consumer.yaml"))
			_, other := issuedFor(t.Context(), in)
			return apierrors.IsNotFound(err) && apierrors.IsNotFound(other), fmt.Sprint(err, other)
		})
		awaitBelow(t, c, len(teams)-i-1)
	}
}

// awaitBelow waits until the service cluster has a number of Certificates with their Secrets, and states.
func awaitBelow(t *testing.T, c client.Client, number int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprint(number, " of all"), func() (bool, string) {
		certificates, secrets, states := &unstructured.UnstructuredList{}, &corev1.SecretList{}, &corev1.SecretList{}
		certificates.SetAPIVersion("cert-manager.io/v1")
		certificates.SetKind("CertificateList")
		for list, of := range map[client.ObjectList]client.ListOption{
			certificates: client.InNamespace(""), secrets: client.MatchingFields{"type": string(corev1.SecretTypeTLS)},
			states: client.MatchingLabels{"syncagent.kcp.io/object-state": "true"},
		} {
			if err := c.List(t.Context(), list, of); err != nil {
				return false, err.Error()
			}
		}
		diff := cmp.Diff([]int{number, number, number},
			[]int{len(certificates.Items), len(secrets.Items), len(states.Items)})
		return diff == "", diff
	})
}
