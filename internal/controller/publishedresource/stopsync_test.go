package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncPaused shows that a PublishedResource that is paused by its annotation has no objects synced, new or deleted,
// until it goes on.
func TestSyncPaused(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first"))
	s.copyOf(t, in)
	kube.Patch(t, s.c, o, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	await(t, s.c, o, isNot(xpv2.TypeSynced, xpv2.ReasonReconcilePaused))
	first := s.cert("first")
	kube.Delete(t, in, first)
	s.wantHalted(t, o, in, s.cert("second"))
	if all := s.copies(t, in); len(all) != 1 || all[0].GetDeletionTimestamp() != nil {
		t.Errorf("want the copy of what was deleted meanwhile as it was, got %s", describeAll(all))
	}
	kube.Patch(t, s.c, o, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
	kube.AwaitGone(t, in, first)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 })
}

// TestSyncStopsOutOfReach shows that synchronization that is turned off stops at once, although the workspace of the
// APIExport is out of reach, while those of consumers are not.
func TestSyncStopsOutOfReach(t *testing.T) {
	t.Parallel()
	s := newShop(t, exportName)
	proxy, cfg := kube.NewProxy(t, s.agent(t))
	s.connect(t, cfg)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first"))
	s.copyOf(t, in)
	proxy.Cut(1 << 20)
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonTargetUnreachable))
	kube.Create(t, in, s.cert("second"))
	kube.Eventually(t, "what is created meanwhile to be synced", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 2, describeAll(all)
	})
	kube.Patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":false}}}`)
	s.wantHalted(t, o, in, s.cert("third"))
}

// TestSyncReplacedMeanwhile shows that a related Secret which was replaced while nothing was synced, by one of another
// type or by an immutable one, is copied anew on the other side.
func TestSyncReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	web, key := s.cert("web"), secretIn(metav1.NamespaceDefault, "web-key", "one")
	web.Object["spec"].(map[string]any)["keyName"] = key.Name
	key.Immutable = new(true)
	kube.Create(t, in, key.DeepCopy(), web)
	s.issue(t, s.copyOf(t, in), "one")
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "one")
	awaitValue(t, s.c, in.cluster, key.Name, "one")

	kube.Patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":false}}}`)
	s.awaitNoCounts(t, o)
	tls := secretIn(in.cluster, "web-tls", "two")
	tls.Type = "example.org/other"
	key.Data["key"] = []byte("two")
	kube.Patch(t, in, key.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	for c, secret := range map[client.Client]*corev1.Secret{s.c: tls, in: key} {
		kube.Remove(t, c, secret.DeepCopy())
		kube.Create(t, c, secret)
	}
	kube.Patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":true}}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "two")
	awaitValue(t, s.c, in.cluster, key.Name, "two")
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
}
