package publishedresource_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// unbind deletes the APIBinding of a tenant, and waits until it is gone.
func unbind(t *testing.T, in tenant) {
	t.Helper()
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	if err := in.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	awaitDeleted(t, in, b)
}

// TestSyncUnbound shows that a workspace that no longer binds the API leaves its copies behind, which is reported, that it finds them again
// when it binds the API once more, and that what it deletes by itself is deleted. Weakness W19.
func TestSyncUnbound(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.EnableWorkspacePaths = true })
	leaves, stays := s.tenant(t), s.tenant(t)
	web := s.cert("web")
	web.Object["spec"].(map[string]any)["keyName"] = "key"
	create(t, leaves, secretIn(metav1.NamespaceDefault, "key", "a"), web)
	create(t, stays, s.cert("web"))
	copied, other := s.copyOf(t, leaves), s.copyOf(t, stays)
	awaitValue(t, s.c, copied.GetNamespace(), "key", "a")

	unbind(t, leaves)
	left := s.copyOf(t, leaves)
	if left.GetUID() != copied.GetUID() || left.GetDeletionTimestamp() != nil || !objectsync.IsOrphaned(left) {
		t.Errorf("want the copy left and marked, got %v", left)
	}
	awaitValue(t, s.c, copied.GetNamespace(), "key", "a")
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 1 && cmp.Equal(c.Orphans, []v1alpha1.WorkspaceOrphans{{Workspace: leaves.path, Copies: 1}})
	})
	s.awaitReported(t, o, "OrphanedCopies", leaves.path)
	key := secretIn(metav1.NamespaceDefault, "key", "")
	if err := leaves.Get(t.Context(), client.ObjectKeyFromObject(key), key); err != nil || len(key.Finalizers) > 0 {
		t.Errorf("the consumer's Secret is held: %v %v", key.Finalizers, err)
	}

	kcp.AwaitBound(t, leaves.cfg, kcp.Bind(t, leaves.cfg, s.path, exportName, claims()...))
	createServed(t, leaves.cfg, s.cert("web"))
	kube.Eventually(t, synced, "the copy to be taken again", func() (bool, string) {
		now := s.copyOf(t, leaves)
		return now.GetUID() == copied.GetUID() && !objectsync.IsOrphaned(now), describe(o)
	})
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 2 && c.Orphaned == 0 })
	for _, in := range []tenant{leaves, stays} {
		if err := in.Delete(t.Context(), s.cert("web")); err != nil {
			t.Fatal(err)
		}
	}
	awaitDeleted(t, s.c, copied)
	awaitDeleted(t, s.c, other)
}

// awaitReported waits for an event about a PublishedResource.
func (s *shop) awaitReported(t *testing.T, o *v1alpha1.PublishedResource, reason, text string) {
	t.Helper()
	kube.Eventually(t, synced, "event "+reason, func() (bool, string) {
		list := &corev1.EventList{}
		if err := s.c.List(t.Context(), list); err != nil {
			return false, err.Error()
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == o.GetName() && e.Reason == reason && strings.Contains(e.Message, text) {
				return true, ""
			}
		}
		return false, "there is none"
	})
}

// TestSyncUnboundDelete shows that copies, states and the namespaces that were made for them go with their workspaces, if that is asked for,
// and that a namespace with anything else in it stays.
func TestSyncUnboundDelete(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.UnboundWorkspaces = xpv2.DeletionDelete
		o.Spec.CreatedNamespaces = &v1alpha1.CreatedNamespaces{DeleteWhenEmpty: true, Labels: map[string]string{"tenant": "{{ .ClusterName }}"}}
	})
	first, second, stays := s.tenant(t), s.tenant(t), s.tenant(t)
	for _, in := range []tenant{first, second, stays} {
		create(t, in, s.cert("web"))
		s.copyOf(t, in)
	}
	create(t, s.c, secretIn(second.cluster, "anything", "a"))
	unbind(t, first)
	unbind(t, second)
	for _, in := range []tenant{first, second} {
		if all := s.copies(t, in); len(all) != 0 {
			t.Errorf("copies of a workspace that has left: %s", describeAll(all))
		}
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Orphaned == 0 })
	ns := &corev1.Namespace{}
	kube.Eventually(t, synced, "the empty namespace to be deleted", func() (bool, string) {
		err := s.c.Get(t.Context(), types.NamespacedName{Name: first.cluster}, ns)
		return client.IgnoreNotFound(err) == nil && (err != nil || ns.DeletionTimestamp != nil), "it is there"
	})
	for _, in := range []tenant{second, stays} {
		err := s.c.Get(t.Context(), types.NamespacedName{Name: in.cluster}, ns)
		if err != nil || ns.DeletionTimestamp != nil || ns.Labels["tenant"] != in.cluster {
			t.Errorf("want the namespace kept that is not empty, got %v %v", err, ns.ObjectMeta)
		}
	}
	states := &corev1.SecretList{}
	if err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace)); err != nil || len(states.Items) != 1 {
		t.Errorf("want the state of the one object, got %d, %v", len(states.Items), err)
	}
}
