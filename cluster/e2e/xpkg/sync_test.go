package xpkg

import (
	"fmt"
	"strings"
	"testing"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// syncs shows that the owner of an API that is published at a path is told which right is missing to sync its objects,
// and that the example gives all of them, from the first copy to its end.
func (s *stage) syncs(t *testing.T, path string, o *syncagentv1alpha1.PublishedResource) {
	_, consumer := workspaces.Workspace(t)
	events := apisv1alpha2.PermissionClaim{
		GroupResource: apisv1alpha2.GroupResource{Resource: "events"}, Verbs: []string{"*"},
	}
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, path, exportName, events))
	in := kcp.Client(t, consumer)
	hat := &unstructured.Unstructured{}
	hat.SetAPIVersion("hats.example.com/v1")
	hat.SetKind("Hat")
	hat.SetNamespace(metav1.NamespaceDefault)
	hat.SetName("bowler")
	kube.Eventually(t, "a Hat in the workspace", func() (bool, string) {
		err := in.Create(t.Context(), hat)
		return err == nil, message(err)
	})
	s.awaitFailure(t, o, `cannot list resource "hats" in API group "hats.example.com"`)
	s.apply(t, "rbac/sync.yaml", func(u *unstructured.Unstructured) {
		rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
		if len(rules) == 0 {
			return
		}
		rule := rules[0].(map[string]any)
		rule["apiGroups"], rule["resources"] = []any{"hats.example.com"}, []any{"hats"}
		if err := unstructured.SetNestedSlice(u.Object, rules, "rules"); err != nil {
			t.Fatal(err)
		}
	})
	s.awaitHats(t, 1)
	kube.Delete(t, in, hat)
	s.awaitHats(t, 0)
	kube.Eventually(t, "the Hat to be gone", func() (bool, string) {
		err := in.Get(t.Context(), client.ObjectKeyFromObject(hat), hat)
		return client.IgnoreNotFound(err) == nil && err != nil, "read: " + message(err)
	})
}

// awaitFailure waits until a PublishedResource says why an object is not synced.
func (s *stage) awaitFailure(t *testing.T, o *syncagentv1alpha1.PublishedResource, part string) {
	t.Helper()
	kube.Eventually(t, "the status to say what is missing", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		said := message(err)
		if o.Status.Objects != nil {
			said += fmt.Sprint(o.Status.Objects.Failures)
		}
		return strings.Contains(said, part), said
	})
}

// awaitHats waits until there are as many copies of Hats.
func (s *stage) awaitHats(t *testing.T, want int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d Hats on the control plane", want), func() (bool, string) {
		l := &unstructured.UnstructuredList{}
		l.SetAPIVersion("hats.example.com/v1")
		l.SetKind("HatList")
		err := s.c.List(t.Context(), l, client.HasLabels{objectsync.LabelCluster})
		return err == nil && len(l.Items) == want, fmt.Sprintf("%d, read: %s", len(l.Items), message(err))
	})
}
