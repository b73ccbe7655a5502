package publishedresource_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
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
	awaitCounts(t, s.c, o, 1, 0)
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
	awaitCounts(t, s.c, o, 1, 0)
}

// TestSyncAgentStays shows that a new agentName is reported once objects have been synced, and that these and new ones
// stay those of the former.
func TestSyncAgentStays(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	web := s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	was := copied.GetLabels()[v1alpha1.LabelKeyAgentName]
	awaitCounts(t, s.c, o, 1, 0)
	update(t, s.c, o, func() { o.Spec.AgentName = "another" })
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonInvalidSpec))
	s.issue(t, copied, "theirs")
	awaitIssued(t, in, web, "theirs")
	kube.Create(t, in, s.cert("new"))
	if got := s.copyNamed(t, in, "new").GetLabels()[v1alpha1.LabelKeyAgentName]; got != was {
		t.Errorf("want the owner to stay %q, got %q", was, got)
	}
	awaitCounts(t, s.c, o, 2, 0)
	update(t, s.c, o, func() { o.Spec.AgentName = "" })
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
}

// TestOrphanUnholds shows that a PublishedResource which goes and leaves what it has made takes our finalizers off the
// objects and Secrets of consumers, whether or not they were synced by then: nobody else would. Finalizers of others,
// the copies and the states stay, and are found again.
func TestOrphanUnholds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *v1alpha1.PublishedResource){
		"Orphan": func(*v1alpha1.PublishedResource) {},
		"Policies": func(o *v1alpha1.PublishedResource) {
			o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe", "Create", "Update"}
		},
		"SyncOff": func(o *v1alpha1.PublishedResource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} },
		"Observe": func(o *v1alpha1.PublishedResource) { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			o := s.publishCerts(t)
			in := s.tenant(t)
			web, key := s.cert("web"), secretIn(metav1.NamespaceDefault, "key", "a")
			key.SetFinalizers([]string{"example.com/mine"})
			web.Object["spec"].(map[string]any)["keyName"] = key.Name
			kube.Create(t, in, key, web)
			copied := s.copyOf(t, in)
			awaitValue(t, s.c, copied.GetNamespace(), key.Name, "a")
			kube.Eventually(t, "finalizers", func() (bool, string) {
				return slices.Contains(finalizersOf(t, in, web), objectsync.Finalizer) &&
					slices.Contains(finalizersOf(t, in, key), objectsync.Finalizer), ""
			})
			awaitCounts(t, s.c, o, 1, 0)

			update(t, s.c, o, func() { change(o) })
			remove(t, s.c, o)
			if got := finalizersOf(t, in, web); len(got) > 0 {
				t.Errorf("finalizers of the object: %v", got)
			}
			if got := finalizersOf(t, in, key); !slices.Equal(got, []string{"example.com/mine"}) {
				t.Errorf("finalizers of the Secret: %v", got)
			}
			now := s.copyOf(t, in)
			if now.GetUID() != copied.GetUID() || now.GetDeletionTimestamp() != nil || objectsync.IsOrphaned(now) {
				t.Errorf("want the copy as it was, got %v", now.Object["metadata"])
			}
			awaitValue(t, s.c, copied.GetNamespace(), key.Name, "a")
			s.publishAgain(t, o.Spec.StateNamespace, in)
		})
	}
}

// publishAgain publishes Certs once more: the object is held again, and its copy not written.
func (s *shop) publishAgain(t *testing.T, states string, in tenant) {
	t.Helper()
	version := s.copyOf(t, in).GetResourceVersion()
	o := s.publishedCerts(states)
	kube.Create(t, s.c, o)
	awaitCounts(t, s.c, o, 1, 0)
	web := s.cert("web")
	if got := finalizersOf(t, in, web); !slices.Contains(got, objectsync.Finalizer) {
		t.Errorf("want the object held again, got %v", got)
	}
	if now := s.copyOf(t, in); now.GetResourceVersion() != version {
		t.Errorf("want the copy not written, got %v", now.Object["metadata"])
	}
	kube.Delete(t, in, web)
	kube.Eventually(t, "no copies", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 0, describeAll(all)
	})
}
