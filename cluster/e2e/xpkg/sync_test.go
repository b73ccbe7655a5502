package xpkg

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// syncs shows that the owner of an API that is published at a path is told which right is missing to sync its objects,
// and that the example gives all of them, from the first copy to its end.
func (s *stage) syncs(t *testing.T, path string, o *syncagentv1alpha1.PublishedResource) {
	_, consumer := workspaces.Workspace(t)
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, path, exportName, kcp.Claims("events")...))
	in := kcp.Client(t, consumer)
	hat := build.Resource("hats.example.com/v1", "Hat", metav1.NamespaceDefault, "bowler")
	kube.Eventually(t, "a Hat in the workspace", func() (bool, string) {
		err := in.Create(t.Context(), hat)
		return err == nil, fmt.Sprint(err)
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
	kube.AwaitGone(t, in, hat)
}

// awaitFailure waits until a PublishedResource says why an object is not synced.
func (s *stage) awaitFailure(t *testing.T, o *syncagentv1alpha1.PublishedResource, part string) {
	t.Helper()
	kube.Eventually(t, "the status to say what is missing", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		said := fmt.Sprint(err)
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
		got := len(kube.ListOf(t, s.c, "hats.example.com/v1", "Hat", client.HasLabels{objectsync.LabelCluster}))
		return got == want, strconv.Itoa(got)
	})
}
