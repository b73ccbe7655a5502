package publishedresource_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// cluster returns the logical cluster of the workspace of a shop.
func (s *shop) cluster(t *testing.T) string {
	t.Helper()
	return s.export(t).Annotations["kcp.io/cluster"]
}

// tenantOf makes a workspace that binds another APIExport of the shop.
func (s *shop) tenantOf(t *testing.T, export string) tenant {
	t.Helper()
	path, cfg := workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, export))
	c := kcp.Client(t, cfg)
	ns := &corev1.Namespace{}
	kube.Get(t, c, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	return tenant{Client: c, cfg: cfg, path: path, cluster: ns.Annotations["kcp.io/cluster"]}
}

// TestSyncOtherExport shows that objects of a workspace that has bound another APIExport with the same schema, which
// kcp shows at our endpoint, too, are not synced, do not count, and keep no API from being withdrawn; and that they are
// once the workspace binds ours.
func TestSyncOtherExport(t *testing.T) {
	t.Parallel()
	const second = "second.example.com"
	s := newShop(t, exportName, second)
	s.connect(t, s.agent(t))
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.DeletionPolicy = xpv2.DeletionDelete })
	e := &apisv1alpha2.APIExport{}
	in := kcp.Client(t, s.admin)
	kube.Get(t, in, types.NamespacedName{Name: second}, e)
	e.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer(s.group, "certs", o.Status.ResourceSchemaName)}
	if err := in.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	ours, theirs, later := s.tenant(t), s.tenantOf(t, second), s.tenantOf(t, second)
	for _, x := range []tenant{ours, theirs, later} {
		createServed(t, x.cfg, s.cert("web"))
	}
	s.copyOf(t, ours)
	s.awaitShown(t, ours, theirs, later)
	kube.Holds(t, "theirs is not synced", func() (bool, string) {
		all := append(s.copies(t, theirs), s.copies(t, later)...)
		return len(all) == 0 && len(finalizersOf(t, theirs, s.cert("web"))) == 0, describeAll(all)
	}, func() { s.turn(t, ours) })
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })

	kube.Remove(t, later, &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: second}})
	kcp.AwaitBound(t, later.cfg, kcp.Bind(t, later.cfg, s.path, exportName, claims()...))
	createServed(t, later.cfg, s.cert("web"))
	s.copyOf(t, later)
	for _, x := range []tenant{ours, later} {
		kube.Remove(t, x, s.cert("web"))
	}
	remove(t, s.c, o)
	kube.Get(t, theirs, client.ObjectKeyFromObject(s.cert("web")), s.cert("web"))
}

// awaitShown waits until the endpoint of the shop shows the Certs of tenants.
func (s *shop) awaitShown(t *testing.T, all ...tenant) {
	t.Helper()
	cfg := rest.CopyConfig(s.admin)
	cfg.Host = s.endpoints(t)[0] + "/clusters/*"
	c := kcp.Client(t, cfg)
	kube.Eventually(t, "the Certs of all at our endpoint", func() (bool, string) {
		list := s.list()
		if err := c.List(t.Context(), list); err != nil {
			return false, err.Error()
		}
		var clusters []string
		for i := range list.Items {
			clusters = append(clusters, list.Items[i].GetAnnotations()["kcp.io/cluster"])
		}
		shown := strings.Join(clusters, " ")
		for _, x := range all {
			if !strings.Contains(shown, x.cluster) {
				return false, shown
			}
		}
		return true, ""
	})
}

// TestSyncMoves shows that of two APIExports of one name, whose owner has one name, too, each has its own copies: of a
// workspace that goes from one to the other, whatever becomes of copies when workspaces leave, the copy is the other's
// from then on, and neither written nor deleted by the first.
func TestSyncMoves(t *testing.T) {
	t.Parallel()
	for _, policy := range []xpv2.DeletionPolicy{xpv2.DeletionOrphan, xpv2.DeletionDelete} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			from, to := openShop(t), openShop(t)
			to.group = from.group
			set := func(o *v1alpha1.PublishedResource) { o.Spec.UnboundWorkspaces = policy }
			first := from.publishCerts(t, set)
			second := to.publishedCerts(first.Spec.StateNamespace)
			set(second)
			kube.Create(t, to.c, second)
			awaitPublished(t, to.c, second)
			goes, stays := from.tenant(t), from.tenant(t)
			kube.Create(t, goes, from.cert("web"))
			copied := from.copyOf(t, goes)
			if got := copied.GetAnnotations()[objectsync.AnnotationPublication]; !strings.HasPrefix(got, first.GetName()) {
				t.Errorf("want the copy to tell whose it is, got %q", got)
			}

			unbind(t, goes)
			kcp.AwaitBound(t, goes.cfg, kcp.Bind(t, goes.cfg, to.path, exportName, claims()...))
			createServed(t, goes.cfg, to.cert("web"))
			awaitObjects(t, to.c, second, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
			now := to.copyOf(t, goes)
			if objectsync.IsOrphaned(now) || (now.GetUID() == copied.GetUID()) != (policy == xpv2.DeletionOrphan) {
				t.Errorf("want the copy of %v taken or made again, got %v", copied.GetUID(), now.Object["metadata"])
			}
			kube.Holds(t, "the copy rests", func() (bool, string) {
				is := to.copyOf(t, goes)
				return is.GetUID() == now.GetUID() && is.GetResourceVersion() == now.GetResourceVersion(), describe(second)
			}, func() { from.turn(t, stays) })
			awaitObjects(t, from.c, first, func(c *v1alpha1.ObjectCounts) bool {
				return c.Synced == 0 && c.Failed == 0 && c.Orphaned == 0
			})
			kube.Remove(t, goes, to.cert("web"))
			kube.AwaitGone(t, to.c, now)
		})
	}
}
