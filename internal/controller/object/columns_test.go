package object_test

import (
	"encoding/json"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// TestColumnsAreOfOneCondition shows that kubectl's columns REASON and MESSAGE tell of one condition, also if another
// one is False, too, and has no message.
func TestColumnsAreOfOneCondition(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		o := w.object(build.ConfigMap("no-"+w.target, "settings"))
		create(t, c, o)
		awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeReady, Status: "False"})
		message := awaitCondition(t, c, o, failed(commonv1.ReasonNamespaceMissing))

		want := map[string]any{"REASON": string(commonv1.ReasonNamespaceMissing), "MESSAGE": message}
		if diff := cmp.Diff(want, columns(t, c, o, "REASON", "MESSAGE")); diff != "" {
			t.Errorf("columns: -want, +got:\n%s", diff)
		}
	})
}

// columns returns what kubectl shows of an object, by the names of columns.
func columns(t *testing.T, c client.Client, o client.Object, names ...string) map[string]any {
	t.Helper()
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	hc, err := rest.HTTPClientFor(local.Config())
	if err != nil {
		t.Fatal(err)
	}
	rc, err := apiutil.RESTClientForGVK(gvk, true, false, local.Config(), scheme.Codecs, hc)
	if err != nil {
		t.Fatal(err)
	}
	body, err := rc.Get().NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").
		Resource(m.Resource.Resource).Name(o.GetName()).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		for _, name := range names {
			if column.Name == name {
				got[name] = table.Rows[0].Cells[i]
			}
		}
	}
	return got
}
