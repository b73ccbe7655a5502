package guides

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPublish goes through docs/publish.md and what docs/sync.md begins with: a workspace binds the API, what it
// creates has a copy, and the copy is what the rules make of it.
func TestPublish(t *testing.T) {
	d := newDesk(t)
	d.Run(t, "kubectl create -f "+absolute(t, filepath.Join("internal", "projection", "testdata",
		"certificates.cert-manager.io.yaml")))
	d.write(t, "kcp", kcp.ServiceAccount(t, workspaces.WorkspaceAt(t, "root:services"), "publisher",
		kcp.CreatorRules("services.example.com")...))
	_, consumer := workspaces.Workspace(t)
	d.write(t, "consumer", consumer)

	steps := guide.Path(t, filepath.Join(top, "docs", "publish.md"), "## Publish an API")
	last := len(steps) - 1
	for _, commands := range steps[:last] {
		d.Run(t, commands)
	}
	d.Run(t, "export KUBECONFIG=consumer.kubeconfig\n"+steps[last])
	d.Run(t, `export KUBECONFIG=consumer.kubeconfig
kubectl wait --for=condition=InitialBindingCompleted apibindings/services --timeout=60s
kubectl apply -f examples/sync/consumer.yaml`)
	d.awaitIssuer(t, consumer.Host, kcp.Client(t, consumer), "any")

	d.Run(t, guide.Path(t, filepath.Join(top, "docs", "sync.md"), "# Syncing objects of consumers")[0])
	d.awaitIssuer(t, consumer.Host, kcp.Client(t, consumer), "selfsigned")
}

// awaitIssuer waits until the only copy, which is in the namespace of the workspace, names an issuer.
func (d *desk) awaitIssuer(t *testing.T, workspace string, in client.Client, want string) {
	t.Helper()
	ns := &corev1.Namespace{}
	if err := in.Get(t.Context(), types.NamespacedName{Name: metav1.NamespaceDefault}, ns); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "a copy for "+workspace+" with issuer "+want, func() (bool, string) {
		copies := &unstructured.UnstructuredList{}
		copies.SetAPIVersion("cert-manager.io/v1")
		copies.SetKind("CertificateList")
		err := d.c.List(t.Context(), copies, client.InNamespace(ns.Annotations["kcp.io/cluster"]))
		if err != nil || len(copies.Items) != 1 {
			return false, fmt.Sprint(len(copies.Items), err)
		}
		got, _, _ := unstructured.NestedString(copies.Items[0].Object, "spec", "issuerRef", "name")
		return got == want, got
	})
}

// absolute returns the path of a file of the sources.
func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(top, file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
