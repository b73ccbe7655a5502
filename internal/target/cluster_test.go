package target

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestReadNames shows how an error names what could not be read: with its namespace if it has one.
func TestReadNames(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(srv.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	exports := schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apiexports"}
	for want, name := range map[string]types.NamespacedName{
		`cannot get apiexports.apis.kcp.io "kcp.example.com":`: {Name: "kcp.example.com"},
		`cannot get apiexports.apis.kcp.io "default/web":`:     {Namespace: "default", Name: "web"},
	} {
		_, err := (&Cluster{dynamic: client}).Read(t.Context(),
			informer.Interest{Resource: exports, NamespacedName: name})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %s…, got %v", want, err)
		}
	}
}
