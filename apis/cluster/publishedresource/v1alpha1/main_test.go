package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var server = kube.Server{Shared: "control"}

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &server)) }

// prepared returns a client of a server that has the CustomResourceDefinition.
func prepared(t *testing.T) client.Client {
	t.Helper()
	server.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	return server.Client(t, apis.AddToScheme)
}
