package kcp_test

import (
	"os"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	testkcp "github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
)

var server testkcp.Server

func TestMain(m *testing.M) { os.Exit(testkcp.Run(m, &server)) }

// exports returns a client of the APIExports of a workspace.
func exports(t *testing.T, cfg *rest.Config) dynamic.ResourceInterface {
	t.Helper()
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d.Resource(kcp.Exports)
}
