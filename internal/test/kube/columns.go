package kube

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Columns returns what `kubectl get -o wide` shows of a resource, by the names of the columns.
func (s *Server) Columns(tb testing.TB, r schema.GroupVersionResource, n types.NamespacedName) map[string]any {
	tb.Helper()
	cfg, gv := s.Config(), r.GroupVersion()
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &gv, "/apis", scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	body, err := c.Get().NamespaceIfScoped(n.Namespace, n.Namespace != "").Resource(r.Resource).Name(n.Name).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		tb.Fatal(err)
	}
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = table.Rows[0].Cells[i]
	}
	return cells
}
